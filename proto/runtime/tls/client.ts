/** What a grpc-js client needs to reach one service of the house, and nobody else, by mutual TLS. */
import { type ChannelCredentials, type VerifyOptions, experimental } from "@grpc/grpc-js";
import type { PeerCertificate } from "node:tls";
import type { Certificates, Credentials } from "./certificates.ts";
import { type ServiceName, isOneOf } from "./identity.ts";

export interface TlsPeer {
  readonly credentials: ChannelCredentials;
  readonly service: ServiceName;
}

/** The name in the certificate counts, wherever the service is: pods have addresses that no certificate knows. */
export function tlsPeer(certificates: Certificates, service: ServiceName): TlsPeer {
  const verify: VerifyOptions = {
    checkServerIdentity: (_host: string, { subjectaltname }: PeerCertificate) =>
      isOneOf([service], certificates.current.house, subjectaltname)
        ? undefined
        : new Error(`not ${service} of this house`),
  };
  const provider = new Provider(certificates);
  return { credentials: experimental.createCertificateProviderChannelCredentials(provider, provider, verify), service };
}

/** Between grpc-js, which asks for both halves by themselves, and certificates, which are replaced as a whole. */
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

  #add(listener: unknown, tell: (credentials: Credentials) => void): void {
    this.#watching.set(listener, tell);
    this.#certificates.watch(tell);
    tell(this.#certificates.current);
  }

  #remove(listener: unknown): void {
    const tell = this.#watching.get(listener);
    if (tell) this.#certificates.unwatch(tell);
    this.#watching.delete(listener);
  }
}
