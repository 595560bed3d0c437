/** Servers of models on the machine of the gateway, each added with one click. */
import { useEffect, useState } from "preact/hooks";
import { ActionForm } from "../parts/dialog.tsx";
import { plural } from "../parts/words.ts";
import { type ConfiguredProvider, type LocalServer, addServer, findServers } from "./data.ts";

/** The console is opened on the machine of the gateway, whose servers are likely those of its operator. */
const isOnThisMachine = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);

interface FoundProps {
  /** Called with the provider as it is now. */
  readonly onDone: (provider: ConfiguredProvider) => unknown;
}

export function FoundServers({ onDone }: FoundProps) {
  const [servers, setServers] = useState<readonly LocalServer[]>();
  const look = async () => setServers(await findServers());
  useEffect(() => {
    // The page looks for servers by itself, so a failure is not shown: the form works without them.
    if (isOnThisMachine) void look().catch(() => setServers([]));
  }, []);
  if (servers === undefined) {
    return isOnThisMachine ? null : (
      <ActionForm label="Find servers on the gateway's machine" act={look} needs="admin" />
    );
  }
  if (servers.length === 0) {
    return isOnThisMachine ? null : <p role="status">No Ollama, vLLM, LM Studio or llama.cpp answers there.</p>;
  }
  const add = async (server: LocalServer) => {
    await onDone(await addServer(server));
    setServers(servers.filter(({ id }) => id !== server.id));
  };
  return (
    <ul class="found" aria-label="Servers on this machine">
      {servers.map((server) => (
        <li key={server.id}>
          <Found server={server} add={() => add(server)} />
        </li>
      ))}
    </ul>
  );
}

const shown = 5;

const Found = ({ server: { name, base_url: url, models }, add }: { server: LocalServer; add: () => Promise<void> }) => (
  <>
    <p>
      <strong>{name}</strong> answers at <span class="mono breakable">{url}</span>
      <span class="sub">
        {models.length === 0
          ? "without a model for chat"
          : `with ${plural(models.length, "model")}: ${models.slice(0, shown).join(", ")}${models.length > shown ? " …" : ""}`}
      </span>
    </p>
    <ActionForm label={`Add ${name}`} act={add} disabled={models.length === 0} needs="admin" />
  </>
);
