/** A client for a service that charges for answers: every answer with the status 200 costs its price. */
import type { PostedAnswer } from "./detection/wire.ts";
import type { Meter, ServiceCaller } from "../models/ledger/service-meter.ts";
import type { ServiceCallLimits, ServiceClient } from "./service-client.ts";

export interface MeteredLimits extends ServiceCaller {
  readonly timeoutMs: number;
}

/** Sends a POST request. @throws Fault as a meter does; Error when no readable response arrives in time */
export type MeteredPost = (path: string, body: string, limits: MeteredLimits) => Promise<PostedAnswer>;

/** Sends a GET request. @throws Fault as a meter does; Error when no readable response arrives in time */
export type MeteredGet = (
  path: string,
  limits: MeteredLimits,
  fields?: Readonly<Record<string, string>>,
) => Promise<PostedAnswer>;

export class MeteredClient {
  readonly #client: ServiceClient;
  readonly #meter: Meter;

  constructor(client: ServiceClient, meter: Meter) {
    this.#client = client;
    this.#meter = meter;
  }

  readonly post: MeteredPost = (path, body, limits) =>
    this.#metered(limits, (call) => this.#client.post(path, body, call));

  readonly get: MeteredGet = (path, limits, fields) =>
    this.#metered(limits, (call) => this.#client.get(path, { ...call, ...(fields && { fields }) }));

  #metered(
    { scope, signal, timeoutMs }: MeteredLimits,
    request: (limits: ServiceCallLimits) => Promise<PostedAnswer>,
  ): Promise<PostedAnswer> {
    return this.#meter({ scope, signal }, { send: (onSent) => request({ signal, timeoutMs, onSent }), isCharged });
  }
}

const isCharged = ({ status }: PostedAnswer): boolean => status === 200;
