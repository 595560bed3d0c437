/** Client side of mutual TLS: connects only to the named service of Sluice. */
import { type ChannelCredentials, type VerifyOptions, experimental } from "@grpc/grpc-js";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import type { Certificates, Credentials } from "./certificates.ts";
import { type ServiceName, isServiceCertificate } from "./identity.ts";

export interface TlsPeer {
  readonly credentials: ChannelCredentials;
  readonly service: ServiceName;
  /** Options for a connection without grpc-js; each call uses the newest certificate. */
  readonly connectionOptions: () => ConnectionOptions;
}

/**
 * Expects a service by the name in its certificate instead of the address, because certificates contain no addresses of
 * pods.
 */
export function tlsPeer(certificates: Certificates, service: ServiceName): TlsPeer {
  const checkServerIdentity = (_host: string, { subjectaltname }: PeerCertificate) =>
    isServiceCertificate([service], certificates.current.servicePrefix, subjectaltname)
      ? undefined
      : new Error(`not ${service} of this installation`);
  const verify: VerifyOptions = { checkServerIdentity };
  const provider = new Provider(certificates);
  return {
    credentials: experimental.createCertificateProviderChannelCredentials(provider, provider, verify),
    service,
    connectionOptions: () => {
      const { cert, key, ca } = certificates.current;
      return { cert, key, ca, checkServerIdentity, servername: service, minVersion: "TLSv1.3" };
    },
  };
}

/** Adapts certificates, which are replaced as a whole, to grpc-js, which requests its two parts separately. */
class Provider implements experimental.CertificateProvider {
  readonly #certificates: Certificates;
  readonly #watching = new Map<unknown, (credentials: Credentials) => void>();

  constructor(certificates: Certificates) {
    this.#certificates = certificates;
  }

  addCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#add(listener, ({ ca }) => listener({ caCertificate: ca }));
  }

  removeCaCertificateListener(listener: experimental.CaCertificateUpdateListener): void {
    this.#remove(listener);
  }

  addIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key }));
  }

  removeIdentityCertificateListener(listener: experimental.IdentityCertificateUpdateListener): void {
    this.#remove(listener);
  }

  #add(listener: unknown, onChange: (credentials: Credentials) => void): void {
    this.#watching.set(listener, onChange);
    this.#certificates.watch(onChange);
    onChange(this.#certificates.current);
  }

  #remove(listener: unknown): void {
    const onChange = this.#watching.get(listener);
    if (onChange) this.#certificates.unwatch(onChange);
    this.#watching.delete(listener);
  }
}
