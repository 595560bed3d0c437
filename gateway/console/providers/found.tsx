/** Model servers on the gateway's machine, each added as a provider with one click. */
import { useEffect, useState } from "preact/hooks";
import { ActionForm } from "../parts/dialog.tsx";
import { plural } from "../parts/words.ts";
import { type ConfiguredProvider, type LocalServer, addServer, findServers } from "./data.ts";

/** A loopback address of the page: the browser then runs on the gateway's machine, whose servers likely belong to the same person. */
const isOnThisMachine = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);

interface FoundProps {
  /** Called with the provider after it was added. */
  readonly onDone: (provider: ConfiguredProvider) => unknown;
}

export function FoundServers({ onDone }: FoundProps) {
  const [servers, setServers] = useState<readonly LocalServer[]>();
  const look = async () => setServers(await findServers());
  useEffect(() => {
    // Nobody asked for this search, so its failure is not shown: the form works without found servers.
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
