/** A configuration with two providers of one model and a judge, for turns under the alignment plugin. */
import { type MessageInitShape, create } from "@bufbuild/protobuf";
import { AlignmentPluginSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { configSchema } from "@sluice/proto/config/config-file.js";
import { type Reply, type Upstream, chatAnswer, startUpstream } from "../../../support/providers/upstream.ts";
import {
  type TestScope,
  type Engine,
  type TurnResult,
  testRequest,
  newScope,
  openEngine,
  runTestTurn,
} from "../../asking.ts";

export interface AlignmentTest {
  readonly acme: Upstream;
  /** A dearer endpoint of the same model. */
  readonly backup: Upstream;
  readonly judge: Upstream;
  readonly engine: Engine;
  stop(): Promise<void>;
}

/** @param settings of the configuration file, instead of those here */
export async function startAlignmentTest(settings: object = {}): Promise<AlignmentTest> {
  const acme = await startUpstream();
  const backup = await startUpstream();
  const judge = await startUpstream();
  const engine = openEngine(
    configSchema.parse({
      providers: [
        { id: "acme", name: "Acme", dialect: "chat", base_url: `${acme.url}/v1` },
        { id: "backup", name: "Backup", dialect: "chat", base_url: `${backup.url}/v1` },
        { id: "judge", name: "Judge", dialect: "chat", base_url: `${judge.url}/v1` },
      ],
      models: [
        {
          id: "acme/large-2",
          endpoints: [
            { provider: "acme", pricing: { prompt: "1", completion: "2" } },
            { provider: "backup", pricing: { prompt: "100", completion: "200" } },
          ],
        },
        { id: "acme/judge", endpoints: [{ provider: "judge", pricing: { prompt: "10", completion: "20" } }] },
      ],
      internal_models: { alignment_judge: { model: "acme/judge", max_concurrency: 1, retries: 0, cache_ttl_s: 0 } },
      ...settings,
    }),
  );
  return {
    acme,
    backup,
    judge,
    engine,
    async stop() {
      await engine.upstreams.close();
      await Promise.all([acme.stop(), backup.stop(), judge.stop()]);
    },
  };
}

/** The answer of a judge with this probability. */
export const judgeReply = (probability: number): Reply =>
  chatAnswer({
    content: JSON.stringify({ evidence: "x", verdict: probability >= 0.5 ? "broken" : "followed", probability }),
  });

export const textAnswer = (content: string): Reply => chatAnswer({ role: "assistant", content });

type Settings = Exclude<MessageInitShape<typeof AlignmentPluginSchema>, { $typeName: string }>;
type Fields = Parameters<typeof testRequest>[0] & { readonly alignment?: Settings };

/** A turn under the plugin, without a stream unless the fields say otherwise. */
export const runAlignedTurn = (
  { engine }: Pick<AlignmentTest, "engine">,
  rules: readonly string[],
  { alignment = {}, ...fields }: Fields = {},
  testScope: TestScope = newScope(),
): Promise<TurnResult> =>
  runTestTurn(
    engine.turn,
    testRequest({
      stream: false,
      plugins: { alignment: create(AlignmentPluginSchema, { ...alignment, rules: [...rules] }) },
      ...fields,
    }),
    testScope,
  );
