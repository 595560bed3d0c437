/** Commands of the pages for people, as they stand there. */
import { readFolder, readPage } from "../../support/pages.ts";

/** Commands of the pages on deployment with this beginning, each on one line. */
export function commandsOf(start: string): string[] {
  const page = readFolder("docs/deploy").replaceAll("\\\n", " ");
  return page.split("\n").filter((line) => line.startsWith(start));
}

/** The first curl of the README, for another address. It reads $SLUICE_KEY. @param address of a gateway, without a path */
export function firstCurl(address: string): string {
  const page = readPage("README.md");
  const after = page.slice(page.indexOf("### A first curl"));
  const command = /```sh\n(curl [\s\S]*?)```/.exec(after)?.[1] ?? "";
  return command.replace("http://127.0.0.1:8080", address);
}

/** The page's command for making a first key in a container of admin-svc; its answer is JSON. */
export function firstKey(): string[] {
  const [line = ""] = commandsOf("kubectl -n sluice exec deployment/admin-svc -- node ");
  return [...line.slice(line.indexOf("node ")).split(" "), "--json"];
}
