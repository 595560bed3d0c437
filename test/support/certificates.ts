/** Certificates of an installation as cert-manager mounts them, and certificates of providers. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const dayMs = 86_400_000;

export interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

const newKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);

export async function newAuthority(name: string): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + dayMs),
    signingAlgorithm: algorithm,
    keys,
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  return { certificate, keys };
}

/** spiffe://test/ns/sluice/sa/<service> */
export const toSpiffeId = (service: string): string => `spiffe://test/ns/sluice/sa/${service}`;

export interface CertificateOptions {
  /** URIs in the certificate. */
  readonly ids?: readonly string[];
  /** Host names and addresses in the certificate. */
  readonly hosts?: readonly string[];
  readonly by: Authority;
  /** Certificate authorities trusted by the server. */
  readonly trusted: readonly Authority[];
  /** End of validity; a day from now by default. */
  readonly until?: Date;
}

/** Creates a certificate, and writes it into the folder. */
export async function writeCertificate(folder: string, options: CertificateOptions): Promise<void> {
  const { ids = [], hosts = [], by, trusted, until } = options;
  const keys = await newKeys();
  const names: x509.JsonGeneralNames = [
    ...ids.map((value) => ({ type: "url" as const, value })),
    ...hosts.map((value) => ({ type: isIP(value) === 0 ? ("dns" as const) : ("ip" as const), value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    subject: "CN=process",
    issuer: by.certificate.subject,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: until ?? new Date(Date.now() + dayMs),
    signingKey: by.keys.privateKey,
    publicKey: keys.publicKey,
    signingAlgorithm: algorithm,
    extensions: [new x509.SubjectAlternativeNameExtension(names)],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  mkdirSync(folder, { recursive: true });
  put(folder, "tls.key", x509.PemConverter.encode(key, "PRIVATE KEY"));
  put(folder, "tls.crt", certificate.toString("pem"));
  put(folder, "ca.crt", trusted.map((authority) => authority.certificate.toString("pem")).join("\n"));
}

/** Replaces a file atomically, so no reader sees a half-written one. The three files are not replaced together, as in a mounted secret. */
function put(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** The certificate and the key in a folder. */
export const readCredentials = (folder: string): { readonly key: Buffer; readonly cert: Buffer } => ({
  key: readFileSync(join(folder, "tls.key")),
  cert: readFileSync(join(folder, "tls.crt")),
});
