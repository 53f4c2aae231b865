# SPDX-License-Identifier: MIT
# Makes one file of the page: index.html, with the style sheet and all modules in it. The modules are joined in
# the order in which they import each other, without their words import and export (docs/WEB.md states the
# rules that make this possible). Data comes in the place of @DATA@.
#
#   awk -f web/one_file.awk -v folder=web
#   awk -f web/one_file.awk -v folder=web -v only=app.js   just the modules, from this one on

function fail(what) {
	print "one_file.awk: " what > "/dev/stderr"
	failed = 1
	exit 1
}

# Appends a module to `script`, behind those that it imports.
function add_module(name,    file, line, body, status) {
	if (name in added)
		return
	added[name] = 1
	file = folder "/" name
	body = ""
	while ((status = (getline line < file)) > 0) {
		if (line ~ /^import /) {
			if (!match(line, /"\.\/[A-Za-z0-9_.]+";$/))
				fail(file ": not an import that can be joined: " line)
			add_module(substr(line, RSTART + 3, RLENGTH - 5))
		} else {
			sub(/^export /, "", line)
			body = body line "\n"
		}
	}
	if (status < 0)
		fail(file " cannot be read")
	close(file)
	script = script body
}

function put_file(name,    file, line, status) {
	file = folder "/" name
	while ((status = (getline line < file)) > 0)
		print line
	if (status < 0)
		fail(file " cannot be read")
	close(file)
}

function attribute(line, name) {
	if (!match(line, name "=\"[^\"]*\""))
		fail("no " name ": " line)
	return substr(line, RSTART + length(name) + 2, RLENGTH - length(name) - 3)
}

BEGIN {
	if (only) {
		add_module(only)
		printf "%s", script
		exit failed
	}
	page = folder "/index.html"
	while ((status = (getline line < page)) > 0) {
		if (line ~ /rel="modulepreload"/) {
			continue
		} else if (line ~ /rel="stylesheet"/) {
			print "<style>"
			put_file(attribute(line, "href"))
			print "</style>"
		} else if (line ~ /<script type="module"/) {
			add_module(attribute(line, "src"))
			printf "<script type=\"module\">\n%s</script>\n", script
		} else {
			print line
			# A saved file asks for nothing, wherever it is opened.
			if (line ~ /<meta charset=/)
				print "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">"
		}
	}
	if (status < 0)
		fail(page " cannot be read")
	exit failed
}
