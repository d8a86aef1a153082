# Tallystick. `make` alone lists what there is.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help

CARGO ?= cargo
# Chores that build what they measure use the profile of the measured programs.
MEASURE = $(CARGO) run --release --locked --quiet --package xtask --
BENCHES := ledger
# Seconds for each pure crate's properties and each fuzz target.
FUZZ_SECONDS ?= 60

.PHONY: help setup setup-databases demo demo-chain test slow torture bench bench-ledger bench-load bench-node bench-chain bench-attachments bench-production bench-siege lab lab-json check fmt-check prose clippy doc layering secrets deps docs results docs-check fuzz api-check client-check interop test-python python-generate python-check clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what the build needs besides cargo (Debian packages, only if missing)
	@scripts/setup

setup-databases: ## the same, and the database servers of the tests; no server is left running
	@scripts/setup '/usr/lib/postgresql/*/bin/initdb=postgresql' /usr/sbin/mariadbd=mariadb-server /usr/lib/galera/libgalera_smm.so=galera-4

demo: setup ## a notary and two nodes pay each other under load; KEEP=1 leaves them up
	@$(CARGO) run --release --locked --package tally -- demo

demo-chain: setup ## four chain nodes, ten accounts, five chains, 5 s a block, a minute of payments, the report; KEEP=1 leaves them up
	@$(CARGO) run --release --locked --package tally -- lab run chain-demo --out target/demo-chain $(if $(KEEP),--keep)

test: setup-databases ## all tests, in a profile that compiles quickly, with the time of each suite
	@$(CARGO) xtask test

slow: setup ## what `make test` leaves out: sieges of simulated days, thousands of simulated chains (CHAIN_SIM_RUNS=..) and ledgers (SIM_RUNS=..), what the pool costs, a swap whose coordinator goes silent, honest members beside a hostile one
	$(CARGO) test --profile checked --locked --package sim --test it -- chain:: --ignored --nocapture
	$(CARGO) test --profile checked --locked --package sim --test it -- seeds:: rollback:: --ignored --nocapture
	$(CARGO) test --release --locked --package chain --lib pool_cost -- --ignored --nocapture
	$(CARGO) test --profile checked --locked --package tally --test it -- silent_counterparty:: --ignored --nocapture
	$(CARGO) bench --profile release --locked --package node --bench siege -- --check

torture: setup setup-databases ## a replicated notary under random faults for TORTURE_SECONDS (600) on Galera and then on PostgreSQL, judged by an independent checker; TALLY_SEED=.. repeats a run
	TALLY_TORTURE_SECONDS=$(or $(TORTURE_SECONDS),600) $(CARGO) test --profile checked --locked --package tally --test it -- torture:: --nocapture --test-threads 1

bench: setup ## the benchmarks that BENCHES names ("ledger load node chain attachments siege" are all; ledger without); one line of JSON, last on stdout
	@$(MEASURE) bench $(BENCHES)

bench-ledger: setup ## issue and pay at full speed; one line of JSON, last on stdout
	@$(MEASURE) bench ledger

bench-load: setup ## many connections and followers, and ten times the work a node can do; one line of JSON
	@$(MEASURE) bench load

bench-node: setup ## queries of a vault with a million states, and the cost of a start; one line of JSON
	@$(MEASURE) bench node

bench-chain: setup ## payments in blocks of one chain node and of four, and a new node that catches up; one line of JSON
	@$(MEASURE) bench chain

bench-attachments: setup ## transactions that refer to files, 1 to 50 MB, present, warm and cold; 15 GB of disk for a while; one line of JSON
	@$(MEASURE) bench attachments

bench-production: setup setup-databases ## nodes on PostgreSQL, a replicated notary on Galera, failover and takeover; twenty minutes; one line of JSON
	@$(MEASURE) bench production

bench-siege: setup ## honest members beside one that does its worst against a bank and a notary; one line of JSON
	@$(MEASURE) bench siege

lab: setup-databases ## the ledger's shipped scenarios of the laboratory, small, into one report in target/lab; SCENARIOS="a b", FULL=1
	@$(MEASURE) lab $(if $(FULL),--full) $(SCENARIOS)

lab-json: setup-databases ## the same, and the comparison tried on itself; one line of JSON with every main figure, last on stdout
	@$(MEASURE) lab --json $(if $(FULL),--full) $(SCENARIOS)

check: setup fmt-check prose clippy doc layering secrets deps docs-check python-check ## everything that can be judged without running; changes nothing

fmt-check: ## formatting
	$(CARGO) fmt --all --check

prose: ## comments, messages and pages are plain English: the share of marked blocks in each folder, with a limit
	@scripts/prose

clippy: ## lints, warnings denied
	$(CARGO) clippy --profile checked --locked --workspace --all-targets -- -D warnings

doc: ## API documentation builds, warnings denied
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --profile checked --locked --workspace --no-deps

layering: ## arrows between crates, purity of the pure ones
	@$(CARGO) xtask layering

secrets: ## fields with the names of secrets have types that do not show them
	@$(CARGO) xtask secrets

deps: ## licences and sources of dependencies
	@$(CARGO) xtask deps

docs: ## write the generated pages under docs/, all of them as a book in target/book, and what the Python client has of them
	@$(CARGO) xtask docs
	@clients/python/tools/generate.py

results: ## write the pages of docs/results, charts included, from the saved run files and pages.toml in that folder
	@$(CARGO) xtask results

docs-check: ## the generated pages are up to date, links lead somewhere, listings are their files
	@$(CARGO) xtask docs --check

fuzz: setup ## the pure crates' properties and every fuzz target, FUZZ_SECONDS (60) each
	@$(CARGO) xtask properties $(FUZZ_SECONDS)
	@$(CARGO) xtask fuzz $(FUZZ_SECONDS)

api-check: setup ## schemathesis against a real node's API, then client-check; EXAMPLES=40 a check, SEED to repeat a run
	@$(CARGO) build --release --locked --package tally
	@scripts/api-check
	@scripts/client-check

client-check: setup ## clients made of the API's description by common generators compile and start flows
	@$(CARGO) build --release --locked --package tally
	@scripts/client-check

interop: setup ## JMeter and k6 drive a real node, and its books must say the same; JTL=.. is read by JMeter's dashboard too
	@$(CARGO) build --release --locked --package tally
	@scripts/interop

test-python: setup ## the Python client: lints, types, the package, tests against real nodes; PYTHONS=.. for more interpreters
	@$(CARGO) build --release --locked --package tally
	@scripts/test-python

python-generate: ## write the generated parts of the Python client
	@clients/python/tools/generate.py

python-check: ## the generated parts of the Python client are up to date
	@clients/python/tools/generate.py --check

clean: ## remove what was built
	$(CARGO) clean
