/** nginx as a proxy: one worker, connections kept on both sides, and no buffering, like the pipe. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Proxy } from "./peer.ts";

export const nginx: Proxy = {
  program: ({ folder, port, upstreamPort }) => {
    writeFileSync(join(folder, "nginx.conf"), nginxFile(port, upstreamPort));
    return { command: "nginx", args: ["-p", folder, "-c", "nginx.conf", "-e", "stderr"] };
  },
};

const nginxFile = (port: number, upstreamPort: number): string => `
daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 16384; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  client_body_buffer_size 64k;
  keepalive_requests 1000000;
  upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 512; keepalive_requests 1000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`;
