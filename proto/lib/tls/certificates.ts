/**
 * The certificate of this process, read from a mounted folder and reloaded when it is replaced. Open connections keep
 * their certificate; every new connection, in either direction, uses the newest. A broken or partly written file
 * changes nothing.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { ConfigError } from "../process/environment.ts";
import { fileVersion } from "../process/file-version.ts";
import type { Logger } from "../log/log.ts";
import { type Registry, gauge } from "../metrics/metrics.ts";
import { servicePrefixOf } from "./identity.ts";

/** Names of the files, as cert-manager and `kubectl create secret tls` write them. */
const files = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;

const lookMs = 500;

/** Certificate, private key and certificate authorities in PEM. */
export interface Credentials {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Certificate authorities accepted for peers; several while an authority is being replaced. */
  readonly ca: Buffer;
  /** Prefix of the names of all services in this trust domain and namespace. */
  readonly servicePrefix: string;
  readonly expiresAt: Date;
}

export class Certificates {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #listeners = new Set<(credentials: Credentials) => void>();
  #current: Credentials;
  #warnedAbout: Credentials | undefined;
  #looks: string;

  /** @throws ConfigError when the files are invalid or cannot be read */
  constructor(folder: string, { log, registry }: { log: Logger; registry: Registry }) {
    this.#folder = folder;
    this.#log = log;
    this.#looks = this.#look();
    try {
      this.#current = this.#read();
    } catch (error) {
      throw new ConfigError(`SLUICE_TLS_DIR ${folder}`, [(error as Error).message]);
    }
    gauge(
      registry,
      "sluice_certificate_expiry_timestamp_seconds",
      "When the certificate of this process expires.",
      () => this.#current.expiresAt.getTime() / 1_000,
    );
    setInterval(() => {
      this.#renew();
      this.#warnBeforeExpiry();
    }, lookMs).unref();
  }

  get current(): Credentials {
    return this.#current;
  }

  /** Sets a listener that is called after each replacement. */
  watch(listener: (credentials: Credentials) => void): void {
    this.#listeners.add(listener);
  }

  unwatch(listener: (credentials: Credentials) => void): void {
    this.#listeners.delete(listener);
  }

  #look(): string {
    return Object.values(files)
      .map((file) => fileVersion(join(this.#folder, file)))
      .join();
  }

  #renew(): void {
    const looks = this.#look();
    if (looks === this.#looks) return;
    this.#looks = looks;
    try {
      this.#current = this.#read();
    } catch (error) {
      this.#log.error({ err: error }, "the certificate was refused; the last good one stays in force");
      return;
    }
    this.#log.info({ expires_at: this.#current.expiresAt }, "a new certificate is in force for new connections");
    for (const listener of this.#listeners) listener(this.#current);
  }

  /** Logs once that the certificate has expired or is about to; peers would only see their connections end. */
  #warnBeforeExpiry(): void {
    if (this.#warnedAbout === this.#current || this.#current.expiresAt.getTime() > Date.now()) return;
    this.#warnedAbout = this.#current;
    this.#log.error(
      { expires_at: this.#current.expiresAt },
      "the certificate has expired: no new connection is possible",
    );
  }

  #read(): Credentials {
    const read = (file: string) => readFileSync(join(this.#folder, file));
    const pem = { cert: read(files.cert), key: read(files.key), ca: read(files.ca) };
    // Throws when key and certificate do not match, which may happen between two writes of files.
    createSecureContext(pem);
    const { validTo } = new X509Certificate(pem.cert);
    return { ...pem, servicePrefix: servicePrefixOf(pem.cert), expiresAt: new Date(validTo) };
  }
}
