/** Lists the processes that rejected the configuration file, until a valid file is in force. */
import { useEffect } from "preact/hooks";
import { sendRequest } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import { hasRole, session } from "../api/session.ts";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";

interface Refusal {
  readonly process: string;
  readonly refused_at: string;
  readonly problems: readonly string[];
}

const intervalMs = 5_000;

const loadRefusals = () => sendRequest<{ readonly data: readonly Refusal[] }>("GET", "/configuration");

/** Only administrators of the account see the file's fields. */
export const ConfigurationNotice = () => (session.value?.account && hasRole("admin") ? <Notice /> : null);

function Notice() {
  const refusals = useLoad(loadRefusals);
  const { data = [] } = refusals.data ?? {};
  const isRefused = data.length > 0;
  // Polling without a reason would keep the session of an open page alive forever.
  useEffect(() => {
    if (!isRefused) return undefined;
    const timer = setInterval(() => void refusals.reload(), intervalMs);
    return () => clearInterval(timer);
  }, [isRefused, refusals.reload]);
  if (!isRefused) return null;
  return (
    <div class="note note-danger" role="alert">
      <Icon name="warning" />
      <div>
        <strong>The changed configuration file was refused; the last good one stays in force.</strong>
        {data.map((refusal) => (
          <Refused key={refusal.process} {...refusal} />
        ))}
      </div>
    </div>
  );
}

const Refused = ({ process, refused_at: at, problems }: Refusal) => (
  <>
    <p>
      <span class="mono">{process}</span>, <Time at={at} />
    </p>
    <ul>
      {problems.map((problem) => (
        <li key={problem} class="mono">
          {problem}
        </li>
      ))}
    </ul>
  </>
);
