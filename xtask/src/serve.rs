//! A web server for the files of one folder, on this machine only.

use crate::run::Failure;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::thread;

/// Serves `folder` until the process is stopped.
pub fn folder(folder: &Path, port: u16) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .map_err(|error| Failure::new(format!("port {port} cannot be used: {error}; choose another with --port")))?;
    let port = listener.local_addr()?.port();
    println!("\nThe console is at http://127.0.0.1:{port} (stop it with Ctrl-C)");
    for stream in listener.incoming() {
        let (stream, folder) = (stream?, folder.to_path_buf());
        // A browser may close the connection in the middle of an answer.
        thread::spawn(move || drop(answer(&stream, &folder)));
    }
    Ok(())
}

/// Answers the requests of one connection, until the browser closes it.
fn answer(stream: &TcpStream, folder: &Path) -> io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    while let Some(request) = lines.next().transpose()? {
        // Headers are skipped. They end with an empty line.
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let mut words = request.split(' ');
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let reply = match method {
            "GET" | "HEAD" => file(folder, target),
            _ => Err("405 Method Not Allowed"),
        };
        let (status, kind, body) = match reply {
            Ok((kind, body)) => ("200 OK", kind, body),
            Err(status) => (status, "text/plain; charset=utf-8", status.as_bytes().to_vec()),
        };
        // With `no-cache` a browser keeps a file but asks each time, so it shows a rebuilt console at once.
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
             X-Content-Type-Options: nosniff\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes())?;
        if method == "GET" {
            stream.write_all(&body)?;
        }
    }
    Ok(())
}

/// The type and the content of the requested file.
fn file(folder: &Path, target: &str) -> Result<(&'static str, Vec<u8>), &'static str> {
    let target = target.split(['?', '#']).next().unwrap_or_default();
    let relative = PathBuf::from(decoded(target).ok_or("400 Bad Request")?.trim_start_matches('/'));
    // Refuses every path outside the folder.
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Err("404 Not Found");
    }
    let mut path = folder.join(relative);
    if path.is_dir() {
        path.push("index.html");
    }
    let body = fs::read(&path).map_err(|_| "404 Not Found")?;
    Ok((mime(&path), body))
}

/// Decodes the `%` escapes.
fn decoded(target: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = target.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn mime(path: &Path) -> &'static str {
    match path.extension().and_then(|end| end.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" | "map" => "application/json",
        "csv" => "text/csv; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" | "md" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(file(&folder, "/main.rs?x=1").unwrap().0, "application/octet-stream");
        for target in
            ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "/..%2fCargo.toml", "//etc/../etc/passwd", "/%00", "/%zz", "/none"]
        {
            assert!(file(&folder, target).is_err(), "{target}");
        }
        // A second slash does not make the path absolute.
        assert!(file(&folder, "//etc/passwd").is_err());
    }

    #[test]
    fn wasm_has_the_type_that_streaming_compilation_asks_for() {
        assert_eq!(mime(Path::new("a/b.wasm")), "application/wasm");
    }
}
