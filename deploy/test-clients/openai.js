/** The openai client two majors before, with the zod that its helpers read. */
export { OpenAI, default } from "openai";
export { zodFunction, zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
export { z } from "zod";
