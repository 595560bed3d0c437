/** The openai client, two major versions older than the current one, with the version of zod that its helpers use. */
export { OpenAI, default } from "openai";
export { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
export { z } from "zod";
