/** The workspace in which a session of the account acts. The choice lasts as long as the tab. */
import { api } from "./client.ts";
import { beforeSignOut, session } from "./session.ts";

const workspaceHeader = "x-sluice-workspace";
const storageName = "sluice-workspace";

/** Id of the chosen workspace; null for the workspace of the session. */
export const chosenWorkspace = (): string | null =>
  session.peek()?.account === true ? sessionStorage.getItem(storageName) : null;

/**
 * Switches to a workspace and loads the console anew, so that no page keeps data of the previous workspace. @param id null for the session's own
 * workspace
 */
export function openWorkspace(id: string | null): void {
  remember(id);
  location.assign("/console");
}

function remember(id: string | null): void {
  if (id === null) sessionStorage.removeItem(storageName);
  else sessionStorage.setItem(storageName, id);
}

api.use({
  onRequest({ request }) {
    const id = chosenWorkspace();
    if (id !== null) request.headers.set(workspaceHeader, id);
    return request;
  },
});

beforeSignOut(async () => remember(null));
