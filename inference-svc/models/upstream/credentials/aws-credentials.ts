/** Credentials of AWS: from the configuration, or from the default chain of Amazon's library. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import type { AwsCredentials } from "@sluice/proto/lib/aws/signature.js";
import type { IssuedCredential } from "./source.ts";

type AwsSettings = NonNullable<ProviderSettings["aws"]>;

/** The credentials in the configuration. @returns undefined when it has no keys */
export function fixedAwsCredentials({
  access_key_id: accessKeyId,
  secret_access_key: secretAccessKey,
  session_token: sessionToken,
}: AwsSettings): AwsCredentials | undefined {
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken !== undefined && { sessionToken }) };
}

/**
 * Gets credentials from the default chain: environment variables, profiles with single sign-on, the web identity of a
 * Kubernetes account, containers, instance metadata
 * (https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html). The library is loaded on demand.
 * Each call makes a new chain, which holds nothing that AWS has refused.
 */
export async function issueAwsCredentials({ region }: AwsSettings): Promise<IssuedCredential<AwsCredentials>> {
  const { defaultProvider } = await import("@aws-sdk/credential-provider-node");
  const credential = await defaultProvider({ clientConfig: { region }, ignoreCache: true, logger: silent })();
  return { credential, expiresAtMs: credential.expiration?.getTime() };
}

const nothing = () => {};
/** Logger of the library that writes nothing; the default one would write warnings to the standard error, beside the log. */
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
