// SPDX-License-Identifier: MIT
// A current ClickHouse engine behind the HTTP interface that stackctl speaks: node chdb.mjs NODE_MODULES DATA
// Prints the port it listens at. Only what stands between HTTP and the engine is here: the query is the one
// that came, but that data behind an INSERT and the table `ids`, which come with a request, are files.
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";

const [folder, data] = process.argv.slice(2); // absolute
const { Session } = createRequire(join(folder, "index.js"))("chdb");
const session = new Session(join(data, "engine"));
const file = join(data, "request");

function partOf(body) {
	const start = body.indexOf("\r\n\r\n") + 4;
	const boundary = body.subarray(0, body.indexOf("\r\n"));
	return body.subarray(start, body.lastIndexOf(Buffer.concat([Buffer.from("\r\n"), boundary])));
}

async function answer(request, body) {
	const parameters = new URL(request.url, "http://localhost").searchParams;
	let query = parameters.get("query") ?? body.toString();

	session.query(`USE \`${parameters.get("database")}\``);
	if (parameters.has("ids_format")) {
		writeFileSync(file, partOf(body));
		query = query.replaceAll("FROM ids)", `FROM file('${file}', '${parameters.get("ids_format")}', ` +
			`'${parameters.get("ids_structure")}'))`);
	} else if (query.startsWith("INSERT INTO") && query.endsWith(" FORMAT Native")) {
		writeFileSync(file, body);
		query = query.replace(" FORMAT Native", ` FROM INFILE '${file}' FORMAT Native`);
	}
	return (await session.queryAsync(query, { format: "TabSeparated" })).bytes();
}

let last = Promise.resolve(); // one request at a time: the session has one current database
const server = createServer((request, response) => {
	const pieces = [];
	request.on("data", piece => pieces.push(piece));
	request.on("end", () => {
		const sent = Buffer.concat(pieces);
		const body = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;

		last = last.then(() => answer(request, body)).then(bytes => {
			response.writeHead(200).end(bytes);
		}, error => {
			response.writeHead(500).end(String(error.message).replace(/^.*?(?=Code: )/s, ""));
		});
	});
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
