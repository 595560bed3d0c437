/** Health check of an image: exits with 0 if /livez answers 200. Arguments: the variable with the port, and the default port. */
import { get } from "node:http";

const [variable, fallback] = process.argv.slice(2);
const { SLUICE_INTERNAL_HOST: listening = "" } = process.env;
const host = ["", "0.0.0.0", "::"].includes(listening) ? "127.0.0.1" : listening;
const request = get({ host, port: process.env[variable] || fallback, path: "/livez" }, (response) => {
  process.exitCode = response.statusCode === 200 ? 0 : 1;
  response.resume();
});
request.setTimeout(2_000, () => request.destroy(new Error("no answer in 2 s")));
request.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
