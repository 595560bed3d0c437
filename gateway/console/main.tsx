/** Starts the console. */
import { render } from "preact";
import { App } from "./app.tsx";
import { readSession } from "./api/session.ts";

void readSession();
render(<App />, document.getElementById("app") as HTMLElement);
