/** Reads commands from the pages, as they are written for people. */
import { readFolder, readPage } from "../../support/pages.ts";

/** Commands of the deployment pages that begin with this text, each on one line. */
export function commandsOf(start: string): string[] {
  const page = readFolder("docs/deploy").replaceAll("\\\n", " ");
  return page.split("\n").filter((line) => line.startsWith(start));
}

/** The first curl command of the README, for another address. It reads $SLUICE_KEY. @param address address of a gateway, without a path */
export function firstCurl(address: string): string {
  const page = readPage("README.md");
  const after = page.slice(page.indexOf("### A first curl"));
  const command = /```sh\n(curl [\s\S]*?)```/.exec(after)?.[1] ?? "";
  return command.replace("http://127.0.0.1:8080", address);
}

/** The page's command that creates a first key in a container of admin-svc, and prints it as JSON. */
export function firstKey(): string[] {
  const [line = ""] = commandsOf("kubectl -n sluice exec deployment/admin-svc -- node ");
  return [...line.slice(line.indexOf("node ")).split(" "), "--json"];
}
