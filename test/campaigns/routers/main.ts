/** npm run routers: simulates the routers, and writes the page with the results. */
import { writeFileSync } from "node:fs";
import { page, pagePath } from "./plot.ts";

writeFileSync(pagePath, page());
console.log(page());
