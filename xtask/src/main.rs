//! The project's own commands: `cargo xtask help` lists them.
//!
//! Each works on a fresh machine that has the Rust toolchain, Node and apt. It installs missing programs and says so.

mod budget;
mod build;
mod conformance;
mod contract;
mod files;
mod modules;
mod mutants;
mod native;
mod order;
mod report;
mod run;
mod serve;
mod short_names;
mod site;
mod size;
mod structure;
mod suites;
mod tools;
mod wasm;

use run::Failure;
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  build            build the wasm engine and the npm package (pkg/dist)
  test [SUITE]...  what has to hold before a change is taken, or some suites of it: checks native wasm size package console
                   packaging e2e; --keep-times keeps the suites' times in xtask/times.txt
  test fast        the loop after an edit: format, lints, native tests with a third of the lives, the package in Node
  test full        everything: all engines, full products, repeats, more seeds, doctests, benches
  console          build everything and serve the console at http://127.0.0.1:8080
  pack             make the npm tarball (target/pack)
  site             build the documentation (target/site), for the folder of a server that SITE_BASE names, as /docs/
  conformance      write docs/CONFORMANCE.md, docs/LIMITS.md and target/conformance.md
  structure        print circles of files and the largest types, functions and files; fails over xtask/structure.txt;
                   --circles names them, --lower lowers the ceilings
  size             print the size of the package, gzip and brotli; fails over its budget
  size --modules   print how many bytes of the wasm file's code each module has
  bench [ARG]...   compare with other in-browser databases, or look closer (--growth, --kinds, ...); bench --help
  soak [ARG]...    many clients on one instance in a browser for a while, everything checked; --minutes N (10)
  native [ARG]...  compare the engine with fjall, outside a browser; the rest goes to criterion
  growth [ROWS]... print how time, memory and space grow with the data, outside a browser
  mutants [FILE].. change the engine in small ways and say what no test notices; --shard k/n, k from 0

  --port N         where the console is served
  --release        optimise (the default)
  --dev            do not optimise: builds faster, runs slower
  --offline        install nothing: fail where something is missing
";

/// Commands that take arguments of their own.
const MEASUREMENTS: [&str; 6] = ["bench", "soak", "native", "growth", "mutants", "structure"];

/// The parsed command line.
struct Request {
    command: String,
    rest: Vec<String>,
    port: u16,
    modules: bool,
    profile: build::Profile,
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(execute) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("\nerror: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, Failure> {
    let mut request = Request {
        command: String::new(),
        rest: Vec::new(),
        port: 8080,
        modules: false,
        profile: build::Profile::Release,
    };
    let mut arguments = arguments.peekable();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // A measurement interprets its own arguments.
            _ if MEASUREMENTS.contains(&request.command.as_str()) => request.rest.push(argument),
            "--release" => request.profile = build::Profile::Release,
            "--dev" => request.profile = build::Profile::Dev,
            "--modules" => request.modules = true,
            "--keep-times" if request.command == "test" => request.rest.push(argument),
            "--offline" => tools::set_offline(),
            "--port" => {
                let port = arguments.next().unwrap_or_default();
                request.port = port.parse().map_err(|_| Failure::new(format!("--port {port:?} is not a port")))?;
            }
            "--help" | "-h" => request.command = "help".to_owned(),
            option if option.starts_with('-') => {
                return Err(Failure::new(format!("unknown option {option}\n\n{HELP}")));
            }
            _ if request.command.is_empty() => request.command = argument,
            _ => request.rest.push(argument),
        }
    }
    Ok(request)
}

fn execute(request: Request) -> Result<(), Failure> {
    let measures = MEASUREMENTS.contains(&request.command.as_str());
    if request.command != "test" && !measures && !request.rest.is_empty() {
        return Err(Failure::new(format!("`{}` takes no {:?}\n\n{HELP}", request.command, request.rest)));
    }
    match request.command.as_str() {
        "build" => build::package(request.profile),
        "test" => suites::run(&request.rest, request.profile),
        "console" => {
            build::console(request.profile)?;
            serve::folder(&run::root().join("www/dist"), request.port)
        }
        "pack" => build::pack(request.profile).map(|tarball| println!("{}", tarball.display())),
        "size" => {
            build::package(build::Profile::Release)?;
            if request.modules { modules::print() } else { size::check() }
        }
        "site" => site::build(),
        "conformance" => conformance::write(),
        "structure" => structure::check(&request.rest),
        "bench" => build::bench(&request.rest),
        "soak" => build::bench(&[&["--soak".to_owned()], &request.rest[..]].concat()),
        "native" => native::bench(&request.rest),
        "growth" => native::growth(&request.rest),
        "mutants" => mutants::run(&request.rest),
        "" | "help" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(Failure::new(format!("unknown command {other:?}\n\n{HELP}"))),
    }
}
