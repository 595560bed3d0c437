/** Starts the console or the standalone API reference. */
import { render } from "preact";
import { App } from "./app.tsx";
import { readSession, signInByLink } from "./api/session.ts";
import { Docs, docsRoot } from "./docs/docs.tsx";

const isDocs = location.pathname === docsRoot || location.pathname.startsWith(`${docsRoot}/`);
if (!isDocs) void signInByLink().then(readSession);
render(isDocs ? <Docs /> : <App />, document.getElementById("app") as HTMLElement);
