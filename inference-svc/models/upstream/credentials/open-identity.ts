/** Chooses the identity for calls to a provider. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import { AwsSigner } from "./aws-signer.ts";
import { fixedAwsCredentials, issueAwsCredentials } from "./aws-credentials.ts";
import { issueEntraToken } from "./entra-token.ts";
import { issueGoogleToken } from "./google-token.ts";
import { type Identity, TokenIdentity } from "./identity.ts";
import { type IssuedCredential, type RenewalDeps, RenewedCredentials, fixedCredential } from "./source.ts";

/** The identity at the cloud the settings name. @returns undefined for providers with keys, or without authentication */
export function openIdentity(
  { id, aws, google, azure, api_keys: keys }: ProviderSettings,
  log: RenewalDeps["log"],
): Identity | undefined {
  const renewed = <Credential>(issue: () => Promise<IssuedCredential<Credential>>) =>
    new RenewedCredentials(issue, { provider: id, log });
  if (aws) {
    const fixed = fixedAwsCredentials(aws);
    // Amazon's signatures for bedrock-runtime hosts use the service name "bedrock".
    return new AwsSigner(
      "bedrock",
      aws.region,
      fixed ? fixedCredential(fixed) : renewed(() => issueAwsCredentials(aws)),
    );
  }
  if (google) return new TokenIdentity(renewed(() => issueGoogleToken(google)));
  return azure && keys === undefined ? new TokenIdentity(renewed(() => issueEntraToken(azure))) : undefined;
}
