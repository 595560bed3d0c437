/** Sends recorded exchanges through a complete installation, whose provider replays the recordings. */
import { type Installation, startInstallation } from "../support/installation.ts";
import type { Exchange } from "./corpus.ts";
import { type Difference, differencesOf, abridgeValue } from "./differences.ts";
import { embeddingDifferences, inputOf } from "./embeddings.ts";
import { requestDifferences } from "./fidelity.ts";
import { RecordedProvider } from "./provider.ts";
import { type Door, buildQuestionBody, doors, isDoor, pathOf, questionOf } from "./questions.ts";
import { type JsonRecord, jsonRecord, parseJson, textOrEmpty } from "./readers/json.ts";
import { readAnswer } from "./readers/read.ts";
import { readReportedChanges } from "./receipts.ts";
import { baseUrlOf, vendorNames } from "./vendors.ts";

/** The result of an exchange at one door. */
export interface DoorResult {
  readonly exchange: Exchange;
  /** Name of the door; `own door` is the door of the recorded request's format. */
  readonly door: Door | "own door" | "embeddings";
  readonly differences: readonly Difference[];
}

/** Number of concurrent exchanges. Each has its own key and provider, so no failure ejects the endpoint of another. */
const atOnce = 6;

export class Replay {
  readonly #installation: Installation;
  readonly #provider: RecordedProvider;

  private constructor(installation: Installation, provider: RecordedProvider) {
    this.#installation = installation;
    this.#provider = provider;
  }

  static async start(exchanges: readonly Exchange[]): Promise<Replay> {
    const provider = new RecordedProvider(exchanges);
    const port = await provider.listen();
    const config = JSON.stringify(configOf(exchanges, port));
    const installation = await startInstallation({
      config,
      inferenceReplicas: 0,
      ...(vendorNames && { prefix: vendorNames }),
    });
    return new Replay(installation, provider);
  }

  async stop(): Promise<void> {
    await this.#installation.stop();
    this.#provider.stop();
  }

  async run(exchanges: readonly Exchange[]): Promise<DoorResult[]> {
    const rows: DoorResult[] = [];
    const left = exchanges.values();
    const work = async () => {
      for (const exchange of left) rows.push(...(await this.#rowsOf(exchange)));
    };
    await Promise.all(Array.from({ length: atOnce }, work));
    return rows;
  }

  async #rowsOf(exchange: Exchange): Promise<DoorResult[]> {
    if (exchange.format === "embeddings") return [await this.#embed(exchange)];
    const rows: DoorResult[] = [];
    if (exchange.request && isDoor(exchange.format))
      rows.push(await this.#askOwnDoor(exchange, exchange.format, exchange.request));
    const want = readAnswer(exchange.format, exchange.status, exchange.bytes);
    const question = questionOf(exchange, want);
    for (const door of doors) {
      const body = buildQuestionBody(door, modelOf(exchange), question, exchange.isStream);
      const { status, bytes, asked } = await this.#post(pathOf[door], body, exchange.id);
      const differences =
        asked.length === 0 ? [refused(status, bytes)] : differencesOf(want, readAnswer(door, status, bytes), door);
      rows.push({ exchange, door, differences });
    }
    return rows;
  }

  /** Sends the request as it was recorded, and compares the request to the provider as well. */
  async #askOwnDoor(
    exchange: Exchange,
    door: Door,
    { body, headers }: NonNullable<Exchange["request"]>,
  ): Promise<DoorResult> {
    const betas = headers["anthropic-beta"];
    const own = { ...(betas && { "anthropic-beta": betas }) };
    const sent = { ...body, model: modelOf(exchange) };
    const { status, bytes, asked, response } = await this.#post(pathOf[door], sent, exchange.id, own);
    const [first] = asked;
    if (!first) return { exchange, door: "own door", differences: [refused(status, bytes)] };
    const want = readAnswer(door, exchange.status, exchange.bytes);
    const differences = [...differencesOf(want, readAnswer(door, status, bytes), door)];
    if (exchange.status < 400) {
      const told = readReportedChanges(bytes.toString(), response.headers);
      differences.push(...requestDifferences(door, body, first.body, told));
      const given = textOrEmpty(first.headers["anthropic-beta"]);
      if (betas && betas !== given)
        differences.push({ what: "changed header anthropic-beta", want: betas, got: given });
    }
    return { exchange, door: "own door", differences };
  }

  async #embed(exchange: Exchange): Promise<DoorResult> {
    const recorded = exchange.request?.body ?? {};
    const own = recorded["input"] !== undefined;
    const body = { ...(own && recorded), model: modelOf(exchange), input: inputOf(recorded) };
    const { status, bytes, asked } = await this.#post("/embeddings", body, exchange.id);
    const want = jsonRecord(parseJson(exchange.bytes.toString()));
    const got = jsonRecord(parseJson(bytes.toString()));
    const differences =
      asked.length === 0 ? [refused(status, bytes)] : embeddingDifferences(exchange, want, status, got);
    return { exchange, door: "embeddings", differences };
  }

  async #post(path: string, body: JsonRecord, id: string, headers: Record<string, string> = {}) {
    const response = await fetch(`${this.#installation.baseUrl}${path}`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        authorization: `Bearer ${this.#installation.apiKey}`,
        "x-service-metadata": "enabled",
        ...headers,
      },
      body: JSON.stringify(body),
    });
    const bytes = Buffer.from(await response.arrayBuffer());
    return { response, status: response.status, bytes, asked: this.#provider.takeAsked(id) };
  }
}

/** The difference for an answer that Sluice gave itself, before any call of the provider. */
function refused(status: number, bytes: Buffer): Difference {
  const { message } = jsonRecord(jsonRecord(parseJson(bytes.toString()))["error"]);
  return { what: "refused", want: "an answer", got: abridgeValue(`${status} ${textOrEmpty(message)}`) };
}

/** The model's name with only characters that the configuration file permits. */
const modelOf = ({ id, model }: Exchange): string => `${id}/${model.replace(/[^\w.:-]/g, "-") || "unknown"}`;

const embeddingFormats: Readonly<Record<string, string>> = {
  google: "gemini",
  vertex: "gemini",
  cohere: "cohere",
  bedrock: "converse",
};

function configOf(exchanges: readonly Exchange[], port: number) {
  const dialectOf = ({ format, vendor }: Exchange) =>
    format === "embeddings" ? (embeddingFormats[vendor] ?? "chat") : format;
  return {
    providers: exchanges.map((exchange) => ({
      id: exchange.id,
      dialect: dialectOf(exchange),
      base_url: baseUrlOf(exchange.vendor, port),
      api_keys: [exchange.id],
    })),
    models: exchanges.map((exchange) => ({
      id: modelOf(exchange),
      context_length: 4_000_000,
      input_modalities: ["text", "image", "file", "audio", "video"],
      output_modalities: exchange.format === "embeddings" ? ["embeddings"] : ["text", "image"],
      endpoints: [{ provider: exchange.id, upstream_model: exchange.model }],
    })),
    limits: { streams_per_key: 1000 },
  };
}
