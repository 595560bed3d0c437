/** Tokens of Microsoft Entra ID. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import type { HeaderFields } from "./identity.ts";
import type { IssuedCredential } from "./source.ts";

type AzureSettings = NonNullable<ProviderSettings["azure"]>;

/**
 * Gets a token from Microsoft's chain of sources: environment variables, the workload identity of a Kubernetes account,
 * managed identity, command-line tools
 * (https://learn.microsoft.com/azure/developer/javascript/sdk/authentication/credential-chains). The library is loaded
 * on demand.
 */
export async function issueEntraToken({ scope }: AzureSettings): Promise<IssuedCredential<HeaderFields>> {
  const { DefaultAzureCredential } = await import("@azure/identity");
  const { token, expiresOnTimestamp } = await new DefaultAzureCredential().getToken(scope);
  return { credential: { authorization: `Bearer ${token}` }, expiresAtMs: expiresOnTimestamp };
}
