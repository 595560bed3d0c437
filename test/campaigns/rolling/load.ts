/** Clients of a rollout that they must not notice: a fixed number of requests per second, and a fixed number of open streams. */
import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parseSse } from "../../support/answers/sse.ts";

export interface RollingLoadOptions {
  /** Port of the balancer. */
  readonly port: number;
  readonly key: string;
  readonly requestsPerSecond: number;
  readonly streams: number;
}

export interface RollingCounts {
  requests: number;
  streams: number;
  /** Number of requests sent again because their idle connection had just ended. */
  resent: number;
  /** Number of requests that were refused because of overload and, as SDKs do, sent again after the Retry-After. */
  refused: number;
  /** Number of wrong answers by error. */
  readonly failures: Map<string, number>;
}

export class RollingLoad {
  readonly counts: RollingCounts = { requests: 0, streams: 0, resent: 0, refused: 0, failures: new Map() };
  readonly #options: RollingLoadOptions;
  readonly #over = new AbortController();
  readonly #agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
  readonly #running = new Set<Promise<void>>();
  readonly #ended: Promise<unknown>;

  constructor(options: RollingLoadOptions) {
    this.#options = options;
    const streams = Array.from({ length: options.streams }, () => this.#streaming());
    this.#ended = Promise.all([this.#asking(), ...streams]);
  }

  /** Stops the load; the promise resolves with the last answer. */
  async stop(): Promise<RollingCounts> {
    this.#over.abort();
    await this.#ended;
    await Promise.all(this.#running);
    this.#agent.destroy();
    return this.counts;
  }

  /** Sends requests at a steady pace, whatever time the answers take. */
  async #asking(): Promise<void> {
    const began = performance.now();
    for (let n = 1; !this.#over.signal.aborted; n++) {
      const one = this.#whole().finally(() => this.#running.delete(one));
      this.#running.add(one);
      await wait(Math.max(0, began + (n * 1_000) / this.#options.requestsPerSecond - performance.now()));
    }
  }

  async #whole(): Promise<void> {
    const failure = await this.#send({ model: "sluice/echo", input: "Hello" }, (text) =>
      text.includes('"status":"completed"') ? undefined : text.slice(0, 200),
    );
    this.counts.requests++;
    if (failure !== undefined) this.#failed(`request: ${failure}`);
  }

  async #streaming(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const failure = await this.#send({ model: "acme/large", input: "Hello", stream: true }, (text) => {
        const { done, events } = parseSse(text);
        const last = events.at(-1);
        const { error } = (last?.["response"] ?? {}) as { error?: { message: string } };
        return done && last?.type === "response.completed" ? undefined : `ended with ${last?.type}: ${error?.message}`;
      });
      this.counts.streams++;
      if (failure !== undefined) this.#failed(`stream: ${failure}`);
    }
  }

  #failed(how: string): void {
    const { failures } = this.counts;
    failures.set(how, (failures.get(how) ?? 0) + 1);
  }

  /**
   * @param isResent whether the request was sent before: it was refused because of overload, or its connection had closed meanwhile (a client may
   * notice the end of an idle connection late, and every HTTP client then uses a new one)  @returns the error, if any
   */
  #send(body: unknown, wrong: (text: string) => string | undefined, isResent = false): Promise<string | undefined> {
    const { port, key } = this.#options;
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    return new Promise((resolve) => {
      const asked = request({
        port,
        host: "127.0.0.1",
        path: "/api/v1/responses",
        method: "POST",
        headers,
        agent: isResent ? false : this.#agent,
      });
      asked.on("error", (error) => {
        if (isResent || isAnswered || !asked.reusedSocket) return resolve(error.message);
        this.counts.resent++;
        resolve(this.#send(body, wrong, true));
      });
      let isAnswered = false;
      asked.on("response", (response) => {
        isAnswered = true;
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("error", (error) => resolve(`${error.message} after ${text.length} characters`));
        response.on("end", () => {
          if (response.statusCode === 200) return resolve(wrong(text));
          if (response.statusCode !== 503 || isResent) return resolve(`${response.statusCode} ${text}`);
          this.counts.refused++;
          const afterMs = Number(response.headers["retry-after-ms"] ?? 0);
          void wait(afterMs).then(() => resolve(this.#send(body, wrong, true)));
        });
      });
      asked.end(JSON.stringify(body));
    });
  }
}
