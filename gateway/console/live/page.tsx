/** Running requests, each with its pace, and a button to end it. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { session } from "../api/session.ts";
import { chosenWorkspace } from "../api/workspace.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { Confirm } from "../parts/dialog.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Skeleton } from "../parts/state.tsx";
import { showToast } from "../parts/toast.tsx";
import { formatCount, formatMilliseconds, plural } from "../parts/words.ts";
import { loadKeyNames } from "../keys/data.ts";
import { type OpenTurn, type Watch, type WatchedTurn, endTurn, useLive } from "./data.ts";
import { Table } from "../parts/table.tsx";

export function LivePage() {
  const { watch, isCut } = useLive();
  const names = useLoad(loadKeyNames);
  const [ending, setEnding] = useState<OpenTurn>();
  const nameOf = (hash: string): string => names.data?.get(hash) ?? hash.slice(0, 12);
  return (
    <Page title="Live" lead={lead()}>
      {isCut && (
        <p class="note note-warn" role="status">
          The connection was lost, and is tried again.
        </p>
      )}
      {watch ? <Open watch={watch} nameOf={nameOf} onEnd={setEnding} /> : <Skeleton lines={6} />}
      {watch && watch.ended.length > 0 && <Ended turns={watch.ended} nameOf={nameOf} />}
      {ending && <End turn={ending} onClose={() => setEnding(undefined)} />}
    </Page>
  );
}

/** The introduction of the page. The list contains only requests of the session's workspace. */
function lead(): string {
  const own = chosenWorkspace() === null ? "" : ` in the workspace ${session.peek()?.workspace.name ?? ""}`;
  return `Requests that are running now${own}, updated once a second.`;
}

type NameOf = (keyHash: string) => string;

interface OpenProps {
  readonly watch: Watch;
  readonly nameOf: NameOf;
  readonly onEnd: (turn: OpenTurn) => void;
}

function Open({ watch: { total, silent, turns }, nameOf, onEnd }: OpenProps) {
  const answering = turns.filter(({ first_ms: first }) => first !== null).length;
  return (
    <>
      <p class="facts-line">
        <span class="badge accent">{plural(total, "open request")}</span>
        <span>{formatCount(answering)} answering</span>
        <span>{formatCount(turns.length - answering)} waiting</span>
        {total > turns.length && <span>the longest {formatCount(turns.length)} are listed</span>}
        {silent > 0 && <span class="badge warn">{plural(silent, "process", "processes")} did not answer</span>}
      </p>
      <Card flush>
        {turns.length === 0 ? (
          <Empty title="Nothing is running">
            <p>Requests appear here while they are answered.</p>
          </Empty>
        ) : (
          <OpenTable turns={turns} nameOf={nameOf} onEnd={onEnd} />
        )}
      </Card>
    </>
  );
}

interface TableProps {
  readonly turns: readonly WatchedTurn[];
  readonly nameOf: NameOf;
  readonly onEnd: (turn: OpenTurn) => void;
}

const OpenTable = ({ turns, nameOf, onEnd }: TableProps) => (
  <Table
    columns={[
      ["Model"],
      ["Key"],
      ["State"],
      ["Characters/s", "wide number"],
      ["Characters", "wide number"],
      ["Open for", "number"],
      ["End", "unseen"],
    ]}
  >
    {turns.map((turn) => (
      <tr key={turn.id}>
        <RequestedModel turn={turn} />
        <td>
          {nameOf(turn.key_hash)}
          {turn.user !== "" && <span class="sub">{turn.user}</span>}
        </td>
        <td>
          <State turn={turn} />
        </td>
        <td class="wide number">{turn.rate === undefined ? "" : formatCount(Math.round(turn.rate))}</td>
        <td class="wide number">{formatCount(turn.text_units)}</td>
        <td class="number">{formatMilliseconds(turn.open_ms)}</td>
        <td class="number">
          <RequireRole to="operator">
            <button type="button" class="button small" onClick={() => onEnd(turn)}>
              End…
            </button>
          </RequireRole>
        </td>
      </tr>
    ))}
  </Table>
);

const RequestedModel = ({ turn: { model, requested_model: requested, provider, door } }: { turn: OpenTurn }) => (
  <th scope="row">
    {model === "" ? requested : model}
    <span class="sub">{provider === "" ? door : `${provider}, ${door}`}</span>
  </th>
);

const State = ({ turn: { first_ms: first, attempts } }: { turn: OpenTurn }) => (
  <>
    <span class={first === null ? "badge" : "badge good"}>{first === null ? "waiting" : "answering"}</span>
    {attempts > 1 && <span class="sub">attempt {attempts}</span>}
  </>
);

const Ended = ({ turns, nameOf }: { turns: readonly OpenTurn[]; nameOf: NameOf }) => (
  <Card title="Ended while you watch" flush>
    <Table columns={[["Model"], ["Key"], ["Characters", "number"], ["Last seen after", "number"]]}>
      {turns.map((turn) => (
        <tr key={turn.id}>
          <RequestedModel turn={turn} />
          <td>{nameOf(turn.key_hash)}</td>
          <td class="number">{formatCount(turn.text_units)}</td>
          <td class="number">{formatMilliseconds(turn.open_ms)}</td>
        </tr>
      ))}
    </Table>
  </Card>
);

function End({ turn, onClose }: { turn: OpenTurn; onClose: () => void }) {
  const act = async () => {
    await endTurn(turn.id);
    showToast("The request is ended");
    onClose();
  };
  return (
    <Confirm title="End this request" label="End request" danger act={act} onClose={onClose}>
      <p>
        Its client gets an error that says that an administrator ended it. What was answered so far is paid for, and the
        audit log keeps who ended it.
      </p>
      <p class="mono">{turn.id}</p>
    </Confirm>
  );
}
