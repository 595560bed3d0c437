/** Tokens of Google Cloud, from application default credentials or a credential file. */
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";
import type { HeaderFields } from "./identity.ts";
import type { IssuedCredential } from "./source.ts";

type GoogleSettings = NonNullable<ProviderSettings["google"]>;

const scopes = "https://www.googleapis.com/auth/cloud-platform";

/** Assumed lifetime in milliseconds of a token the library has signed itself, since it does not report one. */
const signedMs = 3_600_000;

/**
 * Gets a token from Google's chain of sources: GOOGLE_APPLICATION_CREDENTIALS, the file of gcloud, the metadata server
 * (https://cloud.google.com/docs/authentication/application-default-credentials). The library is loaded on demand, and
 * reads the file again for each call.
 */
export async function issueGoogleToken(settings: GoogleSettings): Promise<IssuedCredential<HeaderFields>> {
  const { GoogleAuth } = await import("google-auth-library");
  const { project = "none", credentials_file: keyFilename } = settings;
  // The library does not start a gcloud process to find a project if it is given one.
  const auth = new GoogleAuth({ scopes, projectId: project, ...(keyFilename !== undefined && { keyFilename }) });
  // A service account signs its tokens itself, as in Google's own clients, instead of exchanging them at a token
  // service.
  auth.useJWTAccessWithScope = true;
  const client = await auth.getClient();
  const credential = Object.fromEntries(await client.getRequestHeaders());
  return { credential, expiresAtMs: client.credentials.expiry_date ?? Date.now() + signedMs };
}
