/** Reports the identity used for a cloud provider in this environment, without any network request. */
import { accessSync, constants } from "node:fs";
import type { ProviderSettings } from "@sluice/proto/config/config-file.js";

/** A source of credentials, in the order of the cloud library's search. */
interface Source {
  /** Environment variables that select this source; all are required. */
  readonly variables: readonly string[];
  /** Further environment variables required by the source. */
  readonly needed?: readonly string[];
  /** Environment variable with the path of a file that must be readable. */
  readonly file?: string;
  readonly words: string;
}

interface Sources {
  readonly chosen: readonly Source[];
  /** The sources left when no environment variable selects one. */
  readonly others: string;
}

const aws: Sources = {
  chosen: [
    { variables: ["AWS_PROFILE"], words: "a profile of the files of AWS" },
    { variables: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"], words: "an access key" },
    {
      variables: ["AWS_WEB_IDENTITY_TOKEN_FILE"],
      needed: ["AWS_ROLE_ARN"],
      file: "AWS_WEB_IDENTITY_TOKEN_FILE",
      words: "the web identity of a Kubernetes account",
    },
    { variables: ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], words: "the credential service of a container" },
    { variables: ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"], words: "the credential service of a container" },
  ],
  others: "the default profile of the files of AWS, else instance metadata",
};

const google: Sources = {
  chosen: [
    {
      variables: ["GOOGLE_APPLICATION_CREDENTIALS"],
      file: "GOOGLE_APPLICATION_CREDENTIALS",
      words: "a credential file of Google",
    },
  ],
  others: "the credentials of gcloud, else the metadata server of Google Cloud",
};

const azure: Sources = {
  chosen: [
    {
      variables: ["AZURE_CLIENT_SECRET"],
      needed: ["AZURE_TENANT_ID", "AZURE_CLIENT_ID"],
      words: "the secret of an application of Entra ID",
    },
    {
      variables: ["AZURE_CLIENT_CERTIFICATE_PATH"],
      needed: ["AZURE_TENANT_ID", "AZURE_CLIENT_ID"],
      file: "AZURE_CLIENT_CERTIFICATE_PATH",
      words: "the certificate of an application of Entra ID",
    },
    {
      variables: ["AZURE_FEDERATED_TOKEN_FILE"],
      needed: ["AZURE_TENANT_ID", "AZURE_CLIENT_ID"],
      file: "AZURE_FEDERATED_TOKEN_FILE",
      words: "the workload identity of a Kubernetes account",
    },
    { variables: ["IDENTITY_ENDPOINT"], words: "the managed identity of a service of Azure" },
  ],
  others: "the managed identity of the machine, else the command-line tools of Azure",
};

/** The identity of a provider, and its missing settings. */
export interface FoundIdentity {
  readonly words: string;
  readonly problems: readonly string[];
}

/** @returns undefined for providers with configured keys, or without authentication */
export function findIdentity(
  { aws: amazon, google: cloud, azure: microsoft, api_keys: keys }: ProviderSettings,
  environment: NodeJS.ProcessEnv,
): FoundIdentity | undefined {
  if (amazon) return amazon.access_key_id === undefined ? inEnvironment(aws, environment) : undefined;
  if (cloud?.credentials_file !== undefined) return ofFile(cloud.credentials_file);
  if (cloud) return inEnvironment(google, environment);
  return microsoft && keys === undefined ? inEnvironment(azure, environment) : undefined;
}

const ofFile = (path: string): FoundIdentity => ({
  words: `the credential file ${path}`,
  problems: isReadable(path) ? [] : [`google.credentials_file: cannot read ${path}`],
});

function inEnvironment({ chosen, others }: Sources, environment: NodeJS.ProcessEnv): FoundIdentity {
  const isSet = (name: string) => (environment[name] ?? "") !== "";
  const found = chosen.find(({ variables }) => variables.every(isSet));
  if (found === undefined) return { words: others, problems: [] };
  const by = found.variables.join(", ");
  const unset = (found.needed ?? [])
    .filter((name) => !isSet(name))
    .map((name) => `${by} needs ${name}, which is not set`);
  const path = found.file === undefined ? undefined : environment[found.file];
  const unreadable = path === undefined || isReadable(path) ? [] : [`${by}: cannot read ${path}`];
  return { words: `${found.words} (${by})`, problems: [...unset, ...unreadable] };
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
