/** Credentials of AWS: those of the configuration, else those of the default chain. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import type { AwsCredentials } from "@sluice/proto/lib/aws/signature.js";
import type { IssuedCredential } from "./source.ts";

type AwsSettings = NonNullable<ProviderSettings["aws"]>;

/** Undefined when the configuration has no keys. */
export function fixedAwsCredentials({
  access_key_id: accessKeyId,
  secret_access_key: secretAccessKey,
  session_token: sessionToken,
}: AwsSettings): AwsCredentials | undefined {
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/**
 * Queries the default chain: variables, profiles with single sign-on, the web identity of a Kubernetes account, containers, instance metadata
 * (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html). The library is loaded on demand, and a new chain
 * for each call keeps nothing that AWS has refused.
 */
export async function issueAwsCredentials({ region }: AwsSettings): Promise<IssuedCredential<AwsCredentials>> {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  const credential = await defaultProvider({ clientConfig: { region }, ignoreCache: true, logger: silent })();
  return { credential, expiresAtMs: credential.expiration?.getTime() };
}

const nothing = () => {};
/** Otherwise the library would write its warnings to the standard error, next to the log. */
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
