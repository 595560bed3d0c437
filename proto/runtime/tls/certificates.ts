/**
 * The certificate of this process, mounted as a folder and taken anew when it is replaced. Connections that are open go on with what they
 * began with; every new one, in either direction, stands on the newest. What is broken or half written changes nothing.
 */
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { ConfigError } from "../config.ts";
import { lookOf } from "../house/live.ts";
import type { Logger } from "../log.ts";
import { type Registry, gauge } from "../metrics.ts";
import { houseOf } from "./identity.ts";

/** As cert-manager and `kubectl create secret tls` name them. */
const files = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" } as const;

const lookMs = 500;

/** PEM. */
export interface Credentials {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Who may vouch for peers; several while an authority is being replaced. */
  readonly ca: Buffer;
  /** What the names of this house begin with. */
  readonly house: string;
  readonly expiresAt: Date;
}

export class Certificates {
  readonly #folder: string;
  readonly #log: Logger;
  readonly #listeners = new Set<(credentials: Credentials) => void>();
  #current: Credentials;
  #told: Credentials | undefined;
  #looks: string;

  /** @throws ConfigError */
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
      "When the certificate expires by which this process is known to the others.",
      () => this.#current.expiresAt.getTime() / 1_000,
    );
    setInterval(() => {
      this.#renew();
      this.#tellExpiry();
    }, lookMs).unref();
  }

  get current(): Credentials {
    return this.#current;
  }

  /** Called when they were replaced. */
  watch(listener: (credentials: Credentials) => void): void {
    this.#listeners.add(listener);
  }

  unwatch(listener: (credentials: Credentials) => void): void {
    this.#listeners.delete(listener);
  }

  #look(): string {
    return Object.values(files)
      .map((file) => lookOf(join(this.#folder, file)))
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

  /** Once. Peers that refuse it, and are refused by it, see no more than a connection that ends. */
  #tellExpiry(): void {
    if (this.#told === this.#current || this.#current.expiresAt.getTime() > Date.now()) return;
    this.#told = this.#current;
    this.#log.error(
      { expires_at: this.#current.expiresAt },
      "the certificate has expired: no new connection is possible",
    );
  }

  #read(): Credentials {
    const read = (file: string) => readFileSync(join(this.#folder, file));
    const pem = { cert: read(files.cert), key: read(files.key), ca: read(files.ca) };
    // Throws where the key is not that of the certificate, as between two writes.
    createSecureContext(pem);
    const { validTo } = new X509Certificate(pem.cert);
    return { ...pem, house: houseOf(pem.cert), expiresAt: new Date(validTo) };
  }
}
