/** Shows the current workspace; a session of the account can switch to another. */
import { api, unwrapAnswer } from "../api/client.ts";
import { useLoad } from "../api/load.ts";
import type { Session } from "../api/session.ts";
import { chosenWorkspace, openWorkspace } from "../api/workspace.ts";

/** The list offers the first 100 workspaces; the page of workspaces can open any other. */
const query = { limit: 100 };

export function WorkspaceSwitcher({ session: { account, workspace } }: { session: Session }) {
  if (!account) return <strong>{workspace.name}</strong>;
  return <Choice own={workspace} />;
}

function Choice({ own }: { own: Session["workspace"] }) {
  const list = useLoad(() => unwrapAnswer(api.GET("/workspaces", { params: { query } })));
  const chosen = chosenWorkspace() ?? own.id;
  const known = list.data?.data ?? [own];
  // The chosen workspace is not in the list if it comes after the first 100 or was deleted.
  const others = known.some((each) => each.id === chosen) ? [] : [{ id: chosen, name: chosen }];
  return (
    <select
      class="input"
      aria-label="Workspace"
      value={chosen}
      onChange={({ currentTarget: { value } }) => openWorkspace(value === own.id ? null : value)}
    >
      {[...known, ...others].map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
