/** Sends the same requests with two clients to servers with the same script, and compares how each client reads the responses. */
import { Random } from "../../../support/random.ts";
import { type ObservedResponse, OwnClient, UndiciClient } from "./clients.ts";
import { type ScriptedResponse, generateResponse } from "./generate.ts";
import { Sequence } from "./sequence.ts";
import { ScriptedServer } from "./server.ts";

export interface HttpCampaignOptions {
  readonly seed: number;
  /** Minimum number of exchanges. */
  readonly count: number;
  readonly seconds: number;
  /** Number of the only sequence to run. */
  readonly at?: number;
  /** Called every ten seconds. */
  readonly progress?: (report: HttpFuzzReport) => void;
}

export interface HttpFuzzReport {
  readonly exchanges: number;
  readonly ended: number;
  readonly failed: number;
  /** Number of exchanges on a connection that the previous exchange had used. */
  readonly reused: number;
  /** Number of responses that only one of the clients refused, by reason. */
  readonly differences: ReadonlyMap<string, number>;
  readonly complaints: readonly string[];
}

/** Number of exchanges in a sequence, one after the other on the connections of a client. */
const sequenceLength = 4;
/** Number of sequences that run at the same time. */
const lanes = 24;
const maxComplaints = 10;
const progressMs = 10_000;

export async function httpCampaign(options: HttpCampaignOptions): Promise<HttpFuzzReport> {
  const campaign = new Campaign(options);
  await campaign.run();
  return campaign.report;
}

class Campaign {
  readonly #options: HttpCampaignOptions;
  #next: number;
  #exchanges = 0;
  #ended = 0;
  #failed = 0;
  #reused = 0;
  readonly #differences = new Map<string, number>();
  readonly #complaints: string[] = [];
  readonly #startedAt = performance.now();
  #reportAt = progressMs;

  constructor(options: HttpCampaignOptions) {
    this.#options = options;
    this.#next = options.at ?? 0;
  }

  get report(): HttpFuzzReport {
    return {
      exchanges: this.#exchanges,
      ended: this.#ended,
      failed: this.#failed,
      reused: this.#reused,
      differences: this.#differences,
      complaints: this.#complaints,
    };
  }

  async run(): Promise<void> {
    const server = await ScriptedServer.start();
    try {
      await Promise.all(Array.from({ length: this.#options.at === undefined ? lanes : 1 }, () => this.#lane(server)));
    } finally {
      await server.stop();
    }
  }

  get #isOver(): boolean {
    const { at, count, seconds } = this.#options;
    if (at !== undefined) return this.#next > at;
    const isLate = performance.now() - this.#startedAt >= seconds * 1_000;
    return this.#exchanges >= count || isLate || this.#complaints.length >= maxComplaints;
  }

  async #lane(server: ScriptedServer): Promise<void> {
    while (!this.#isOver) {
      await this.#sequence(server, this.#next++);
      if (performance.now() - this.#startedAt < this.#reportAt) continue;
      this.#reportAt = performance.now() - this.#startedAt + progressMs;
      this.#options.progress?.(this.report);
    }
  }

  async #sequence(server: ScriptedServer, number: number): Promise<void> {
    const { seed } = this.#options;
    const random = new Random(seed, number);
    const pair = [new OwnClient(server.origin), new UndiciClient(server.origin)] as const;
    const sequence = new Sequence(server, number, pair);
    try {
      for (let step = 0; step < sequenceLength; step++) {
        const response = generateResponse(random);
        const { own, complaint } = await sequence.exchange(step, response);
        this.#count(own, sequence);
        if (complaint !== undefined)
          return void this.#complaints.push(
            `--seed ${seed} --at ${number} (step ${step}): ${complaint}\n${describe(response)}`,
          );
        // The sequence ends here: its next response could be confused with one that is late, or that only one client has read.
        if (own.outcome === "pending" || sequence.excused.length > 0) return;
      }
    } finally {
      for (const client of pair) client.close();
    }
  }

  #count(own: ObservedResponse, { isReused, excused }: Sequence): void {
    this.#exchanges++;
    if (own.outcome === "ended") this.#ended++;
    if (own.outcome === "failed") this.#failed++;
    if (isReused) this.#reused++;
    for (const what of excused) this.#differences.set(what, (this.#differences.get(what) ?? 0) + 1);
  }
}

const describe = ({ pieces, ending, isPaused }: ScriptedResponse): string =>
  JSON.stringify({ ending, isPaused, pieces: pieces.map((piece) => shorten(piece.toString("latin1"))) });

const shorten = (text: string): string => (text.length > 600 ? `${text.slice(0, 400)}…${text.slice(-150)}` : text);

export function httpLines(
  seed: number,
  { exchanges, ended, failed, reused, differences, complaints }: HttpFuzzReport,
): string[] {
  return [
    ...complaints.map((complaint) => `\n${complaint}`),
    ...[...differences].map(([what, count]) => `differs from undici ${count} times: ${what}`),
    `seed ${seed}: ${exchanges} exchanges, ${ended} with an end, ${failed} failed, ${reused} on a used connection, ${complaints.length} complaints`,
  ];
}
