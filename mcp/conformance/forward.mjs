// Forwards http://127.0.0.1:PORT to the server and adds the API key, because the conformance suite
// cannot send one. Host and Origin stay unchanged: the suite tests the server's checks of them.
//
//   node forward.mjs http://127.0.0.1:8080 KEY   prints its own address on the first line
import http from "node:http";

const [target, key] = process.argv.slice(2);
const to = new URL(target);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, "x-api-key": key };
  const onward = http.request(
    { host: to.hostname, port: to.port, method: request.method, path: request.url, headers, setHost: false },
    (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    },
  );
  onward.on("error", (error) => response.destroy(error));
  request.pipe(onward);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
