/**
 * Names of services in certificates: spiffe://<trust domain>/ns/<namespace>/sa/<service>, a subject alternative name of
 * type URI.
 */
import { X509Certificate } from "node:crypto";

export type ServiceName = "gateway" | "inference-svc" | "admin-svc";

const form = /^(spiffe:\/\/[^/]+\/ns\/[^/]+\/sa\/)[^/]+$/;

/**
 * URIs among the subject alternative names, as OpenSSL prints them. It quotes a name with a comma or a quote, which is
 * never a service of Sluice.
 */
const urisOf = (subjectAltName: string | undefined): string[] =>
  (subjectAltName ?? "")
    .split(", ")
    .filter((name) => name.startsWith("URI:"))
    .map((name) => name.slice("URI:".length));

/**
 * Prefix of the service names, from the certificate of a process. @throws Error when the certificate has no service
 * name
 */
export function servicePrefixOf(certificate: Buffer): string {
  const uris = urisOf(new X509Certificate(certificate).subjectAltName);
  const prefix = uris.map((uri) => form.exec(uri)?.[1]).find((found) => found !== undefined);
  if (prefix === undefined) throw new Error("no SAN of the form spiffe://<trust domain>/ns/<namespace>/sa/<service>");
  return prefix;
}

/** Whether a verified certificate belongs to one of these services. */
export function isServiceCertificate(
  services: readonly ServiceName[],
  servicePrefix: string,
  subjectAltName: string | undefined,
): boolean {
  const uris = urisOf(subjectAltName);
  return services.some((service) => uris.includes(`${servicePrefix}${service}`));
}
