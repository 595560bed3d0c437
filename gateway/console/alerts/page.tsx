/** Alerts on views: their state, history, test and deletion. */
import { useState } from "preact/hooks";
import { useLoad } from "../api/load.ts";
import { RequireRole } from "../parts/allowed.tsx";
import { ActionForm, Confirm, Dialog } from "../parts/dialog.tsx";
import { Card, Page } from "../parts/page.tsx";
import { Empty, Show } from "../parts/state.tsx";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import {
  type AlertRule,
  conditionOf,
  deleteRule,
  formatFigure,
  loadHistory,
  loadRules,
  testRule,
  viewOf,
} from "./data.ts";

export function AlertsPage() {
  const rules = useLoad(loadRules);
  const [opened, setOpened] = useState<AlertRule>();
  const [removed, setRemoved] = useState<AlertRule>();
  return (
    <Page title="Alerts" lead="Conditions on views of the explorer, checked every minute and sent to channels.">
      <Card flush>
        <Show of={rules} lines={6}>
          {(data) =>
            data.length === 0 ? (
              <Empty title="No alert is set">
                <a class="button" href="/console/explorer">
                  Set one on a view of the explorer
                </a>
              </Empty>
            ) : (
              <RuleTable rules={data} onOpen={setOpened} onRemove={setRemoved} />
            )
          }
        </Show>
      </Card>
      {opened && <RuleDialog rule={opened} onClose={() => setOpened(undefined)} />}
      {removed && (
        <Confirm
          title={`Delete the alert ${removed.name}?`}
          label="Delete"
          danger
          needs="operator"
          act={async () => {
            await deleteRule(removed.name);
            setRemoved(undefined);
            await rules.reload();
          }}
          onClose={() => setRemoved(undefined)}
        >
          <p>Its history is deleted as well.</p>
        </Confirm>
      )}
    </Page>
  );
}

interface TableProps {
  readonly rules: readonly AlertRule[];
  readonly onOpen: (rule: AlertRule) => void;
  readonly onRemove: (rule: AlertRule) => void;
}

const RuleTable = ({ rules, onOpen, onRemove }: TableProps) => (
  <Table
    columns={[
      ["Name"],
      ["State"],
      ["Condition", "wide"],
      ["Last figure", "number"],
      ["Channels", "wide"],
      ["Actions", "unseen"],
    ]}
  >
    {rules.map((rule) => (
      <tr key={rule.name}>
        <th scope="row" class="breakable">
          <a href={viewOf(rule)}>{rule.name}</a>
        </th>
        <td>
          <State rule={rule} />
        </td>
        <td class="wide">
          {conditionOf(rule.condition)[1]}
          {rule.condition !== "provider_down" && ` ${formatFigure(rule.condition, rule.threshold ?? 0)}`}
          <span class="sub">in {rule.window_minutes} minutes</span>
        </td>
        <td class="number">{formatFigure(rule.condition, rule.value)}</td>
        <td class="wide">{rule.channels.join(", ")}</td>
        <td class="number">
          <button
            type="button"
            class="button small"
            aria-label={`History and test of ${rule.name}`}
            onClick={() => onOpen(rule)}
          >
            History
          </button>
          <RequireRole to="operator">
            <button
              type="button"
              class="button small"
              aria-label={`Delete ${rule.name}`}
              onClick={() => onRemove(rule)}
            >
              Delete
            </button>
          </RequireRole>
        </td>
      </tr>
    ))}
  </Table>
);

const State = ({ rule }: { rule: AlertRule }) => (
  <>
    <span class={rule.is_firing ? "badge danger" : "badge good"}>{rule.is_firing ? "Firing" : "OK"}</span>
    {rule.last_error !== null && <span class="sub">{rule.last_error}</span>}
  </>
);

type Tested = Awaited<ReturnType<typeof testRule>>;

function RuleDialog({ rule, onClose }: { rule: AlertRule; onClose: () => void }) {
  const history = useLoad(() => loadHistory(rule.name), [rule.name]);
  const [tested, setTested] = useState<Tested>();
  const test = async () => {
    setTested(await testRule(rule.name));
    await history.reload();
  };
  return (
    <Dialog title={rule.name} onClose={onClose} side>
      <ActionForm label="Send a test alert" act={test} needs="operator">
        <p>Checks the condition now, and sends a test alert to {rule.channels.join(", ")}.</p>
      </ActionForm>
      {tested && <Outcome rule={rule} tested={tested} />}
      <Show of={history} lines={4}>
        {(events) =>
          events.length === 0 ? (
            <p class="muted">It has not fired yet.</p>
          ) : (
            <Table columns={[["Time (UTC)"], ["Event"], ["Figure", "number"]]}>
              {events.map((event, n) => (
                <tr key={`${event.at} ${n}`}>
                  <th scope="row">
                    <Time at={event.at} />
                  </th>
                  <td>{event.type}</td>
                  <td class="number">{formatFigure(rule.condition, event.value)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
    </Dialog>
  );
}

const Outcome = ({ rule, tested }: { rule: AlertRule; tested: Tested }) => (
  <div role="status">
    <p>
      The condition is {tested.is_met ? "met" : "not met"}: {formatFigure(rule.condition, tested.value)}.
    </p>
    <ul>
      {tested.deliveries.map(({ channel, is_delivered: isDelivered, error }) => (
        <li key={channel}>
          {channel}: {isDelivered ? "delivered" : `not delivered: ${error ?? ""}`}
        </li>
      ))}
    </ul>
  </div>
);
