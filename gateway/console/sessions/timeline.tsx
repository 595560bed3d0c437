/** One session: its turns in their order, with the gaps between them. */
import { useRoute } from "preact-iso";
import { api, unwrapAnswer } from "../api/client.ts";
import { everyPage } from "../api/lists.ts";
import { useLoad } from "../api/load.ts";
import { explorerAddress } from "../explorer/address.ts";
import { requestAddress } from "../requests/address.ts";
import { OutcomeBadge } from "../requests/outcome-badge.tsx";
import { Money } from "../parts/money.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { formatClock, formatCount, formatDollars, formatDuration, formatMilliseconds, plural } from "../parts/words.ts";

/** Loads up to 2,000 turns of a session, earliest first. */
async function loadTurns(session: string) {
  const turns = await everyPage((page) =>
    unwrapAnswer(api.GET("/generations", { params: { query: { ...page, session_id: session } } })),
  );
  return turns.toReversed();
}

type Turn = Awaited<ReturnType<typeof loadTurns>>[number];

export function SessionPage() {
  const { id = "" } = useRoute().params;
  const turns = useLoad(() => loadTurns(id), [id]);
  const toExplorer = (
    <a class="button" href={explorerAddress({ session: id, last: "30d" })}>
      Open in the explorer
    </a>
  );
  return (
    <Page title="Session" lead={id} actions={toExplorer}>
      <Show of={turns} lines={8}>
        {(data) =>
          data.length === 0 ? (
            <Card flush>
              <Empty title="No request of this session is on record" />
            </Card>
          ) : (
            <>
              <Figures turns={data} />
              <Card title="Turns">
                <Timeline turns={data} />
              </Card>
            </>
          )
        }
      </Show>
    </Page>
  );
}

const beginOf = ({ created_at: at }: Turn): number => Date.parse(at);
const endOf = (turn: Turn): number => beginOf(turn) + turn.duration_ms;

function Figures({ turns }: { turns: readonly Turn[] }) {
  const cost = turns.reduce((sum, { cost_usd: usd }) => sum + Number(usd), 0);
  const tokens = turns.reduce((sum, turn) => sum + turn.input_tokens + turn.output_tokens, 0);
  const failures = turns.filter(({ status }) => status > 399).length;
  const first = turns[0] as Turn;
  const busy = turns.reduce((sum, { duration_ms: ms }) => sum + ms, 0);
  const length = Math.max(...turns.map(endOf)) - beginOf(first);
  const facts = [
    ["Turns", formatCount(turns.length), plural(failures, "failure")],
    ["Cost", formatDollars(cost), plural(tokens, "token")],
    ["Duration", formatDuration(length), `${formatDuration(busy)} in models`],
    ["Key", first.key_name ?? first.key_hash.slice(0, 12), first.user ?? ""],
  ] as const;
  return (
    <dl class="figures">
      {facts.map(([name, value, about]) => (
        <div class="figure" key={name}>
          <dt>{name}</dt>
          <dd>{name === "Key" ? <a href={`/console/keys/${first.key_hash}`}>{value}</a> : value}</dd>
          <dd class="sub">{about}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A shorter gap between two turns is not shown: the program went on at once. */
const shownGapMs = 1_000;

function Timeline({ turns }: { turns: readonly Turn[] }) {
  const begin = beginOf(turns[0] as Turn);
  const length = Math.max(1, ...turns.map((turn) => endOf(turn) - begin));
  const share = (ms: number) => `${(ms / length) * 100}%`;
  return (
    <ol class="waterfall">
      {turns.map((turn, n) => {
        const before = turns[n - 1];
        const gap = before === undefined ? 0 : beginOf(turn) - endOf(before);
        const style = { left: share(beginOf(turn) - begin), width: share(turn.duration_ms) };
        return (
          <li key={turn.id}>
            {gap >= shownGapMs && <span class="gap">{formatDuration(gap)} without a request</span>}
            <span class="turn-line">
              <a href={requestAddress(turn.id)}>{formatClock(turn.created_at)}</a>
              <OutcomeBadge outcome={turn.outcome} status={turn.status} />
              <span class="breakable">{turn.model ?? turn.requested_model ?? "No model"}</span>
              {turn.finish_reason === "tool_calls" && <span class="badge accent">tool calls</span>}
            </span>
            <span class="track" aria-hidden="true">
              <i class={turn.status > 399 ? "failed" : "answering"} style={style} />
            </span>
            <span class="muted">
              {formatCount(turn.input_tokens)} tokens in, {formatCount(turn.output_tokens)} out,{" "}
              <Money of={turn.cost_usd} />, {formatMilliseconds(turn.duration_ms)}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
