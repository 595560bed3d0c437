/**
 * Settings of providers on the clouds of Amazon, Google and Microsoft: the identity that signs requests, and the
 * address derived from them.
 */
import { z } from "zod";

/** The provider setting that names its cloud. */
export type Cloud = "aws" | "google" | "azure";

const clouds = ["aws", "google", "azure"] as const satisfies readonly Cloud[];

/** Part of a host name or path. The allowed characters cannot lead to another host. */
const name = z.string().regex(/^[\w.:-]+$/, "must consist of letters, digits, dots, colons, hyphens and underscores");

export const awsSettings = z.strictObject({
  region: name.describe("Region, for signatures and for the address of a provider without base_url."),
  access_key_id: z
    .string()
    .min(1)
    .optional()
    .describe("Access key; when absent, the credentials come from the default chain of AWS."),
  secret_access_key: z.string().min(1).optional().describe("Secret of the access key."),
  session_token: z
    .string()
    .min(1)
    .optional()
    .describe("Session token of temporary credentials; omitted when its variable is not set."),
});

export const googleSettings = z.strictObject({
  project: name.optional().describe("Project, for the address of a provider without base_url."),
  location: name
    .optional()
    .describe("Location such as us-central1, eu or global, for the address of a provider without base_url."),
  credentials_file: z
    .string()
    .min(1)
    .optional()
    .describe("Credential file; when absent, Google's application default credentials are used."),
});

export const azureSettings = z.strictObject({
  resource: name.optional().describe("Name of the resource, for the address of a provider without base_url."),
  scope: z
    .string()
    .min(1)
    .default("https://cognitiveservices.azure.com/.default")
    .describe("Scope of tokens of Entra ID, which are used when api_keys is absent."),
});

/** The cloud-specific settings of a provider. */
interface CloudProvider {
  readonly dialect: string;
  readonly base_url?: string | undefined;
  readonly api_keys?: readonly string[] | undefined;
  readonly aws?: z.infer<typeof awsSettings> | undefined;
  readonly google?: z.infer<typeof googleSettings> | undefined;
  readonly azure?: z.infer<typeof azureSettings> | undefined;
}

/** The cloud of a provider; undefined when it names none. */
export const cloudOf = (provider: CloudProvider): Cloud | undefined =>
  clouds.find((cloud) => provider[cloud] !== undefined);

/** The base URL built from the cloud settings; undefined when they are incomplete. */
export function cloudAddress({ dialect = "", aws, google, azure }: Partial<CloudProvider>): string | undefined {
  if (aws) return `https://bedrock-runtime.${aws.region}.amazonaws.com`;
  if (google?.project !== undefined && google.location !== undefined) {
    return vertexAddress(dialect, google.project, google.location);
  }
  if (azure?.resource === undefined) return undefined;
  return dialect === "messages"
    ? `https://${azure.resource}.services.ai.azure.com/anthropic/v1`
    : `https://${azure.resource}.openai.azure.com/openai/v1`;
}

/** Addresses of Vertex AI by location: https://cloud.google.com/vertex-ai/generative-ai/docs/learn/locations */
function vertexAddress(dialect: string, project: string, location: string): string {
  const place = `https://${vertexHost(location)}/v1/projects/${project}/locations/${location}`;
  if (dialect === "chat") return `${place}/endpoints/openapi`;
  return `${place}/publishers/${dialect === "messages" ? "anthropic" : "google"}`;
}

function vertexHost(location: string): string {
  if (location === "global") return "aiplatform.googleapis.com";
  const isMultiRegion = location === "us" || location === "eu";
  return isMultiRegion ? `aiplatform.${location}.rep.googleapis.com` : `${location}-aiplatform.googleapis.com`;
}

/**
 * Finds problems of the cloud settings; each begins with the path within the provider.
 * @param spoken clouds that offer the provider's dialect
 */
export function cloudProblems(provider: CloudProvider, spoken: readonly Cloud[]): string[] {
  const [cloud, ...others] = clouds.filter((each) => provider[each] !== undefined);
  if (cloud === undefined) return [];
  const problems = others.map((other) => `${other}: give either this or ${cloud}`);
  if (!spoken.includes(cloud)) problems.push(`${cloud}: not for dialect ${provider.dialect}; remove it`);
  if (cloud !== "azure" && provider.api_keys !== undefined) problems.push(`${cloud}: give either this or api_keys`);
  return [...problems, ...keyProblems(provider), ...addressProblems(provider)];
}

function keyProblems({ aws }: CloudProvider): string[] {
  const { access_key_id: key, secret_access_key: secret, session_token: token } = aws ?? {};
  if ((key === undefined) !== (secret === undefined)) {
    const missing = key === undefined ? "access_key_id" : "secret_access_key";
    return [`aws.${missing}: required beside its other half; remove both for the default chain of AWS`];
  }
  if (key !== undefined || token === undefined) return [];
  return ["aws.session_token: belongs to an access key; remove it for the default chain of AWS"];
}

/** Refuses an address given in two ways, because it would be unclear which of them is used. */
function addressProblems({ base_url: url, google, azure }: CloudProvider): string[] {
  if (google && url !== undefined && (google.project ?? google.location) !== undefined)
    return ["google: give either base_url, or project and location"];
  if (google && url === undefined && (google.project === undefined || google.location === undefined))
    return [`google.${google.project === undefined ? "project" : "location"}: required without base_url`];
  if (azure?.resource !== undefined && url !== undefined) return ["azure.resource: give either this or base_url"];
  return azure && azure.resource === undefined && url === undefined
    ? ["azure.resource: required without base_url"]
    : [];
}
