/** Client side of mutual TLS: connects to one service of Sluice, and to nothing else. */
import { type ChannelCredentials, type VerifyOptions, experimental } from "@grpc/grpc-js";
import type { ConnectionOptions, PeerCertificate } from "node:tls";
import type { Certificates, Credentials } from "./certificates.ts";
import { type ServiceName, isServiceCertificate } from "./identity.ts";

export interface TlsPeer {
  readonly credentials: ChannelCredentials;
  readonly service: ServiceName;
  /** For a connection without grpc-js; uses the newest certificate at each call. */
  readonly connectionOptions: () => ConnectionOptions;
}

/** The service name in the certificate counts, not the address: certificates contain no pod addresses. */
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

/** Adapts certificates, replaced as a whole, to grpc-js, which requests both halves separately. */
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
