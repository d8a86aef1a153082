"""Starts flows from coroutines of the tallystick package, as an application would: a line of JSON each on standard input,
first where the node is; a line of JSON each on standard output, as they end."""

import asyncio
import json
import sys

import tallystick

# The longest line that the laboratory sends, in bytes.
#: No line of the laboratory is longer, in bytes.
LINE_BYTES_MAX = 1 << 20


def say(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


async def run(client, asked):
    answer = {"n": asked["n"]}
    try:
        outcome = await client.run(asked["flow"], asked["args"], wait="delivered", client_id=None)
        answer["transactions"] = outcome.transactions
    except tallystick.TallystickError as error:
        answer["code"], answer["message"] = error.code, error.message
        # A start that is refused for now has begun nothing.
        answer["begun"] = not isinstance(error, tallystick.Busy)
        answer["retry_after_s"] = getattr(error, "retry_after_s", None)
    say(answer)


async def main():
    lines = asyncio.StreamReader(limit=LINE_BYTES_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    node = json.loads(await lines.readline())
    host, _, port = node["address"].rpartition(":")
    endpoint = tallystick.Endpoint(host, int(port), node["root_pem"], node["token"], None, node["server_name"])
    once = tallystick.Retry(busy_s=0, lost=0)
    running = set()
    async with tallystick.AsyncClient(endpoint, connections_max=node["connections"], retry=once) as client:
        await client.api.health()
        say({"ready": tallystick.__version__})
        while line := await lines.readline():
            task = asyncio.create_task(run(client, json.loads(line)))
            running.add(task)
            task.add_done_callback(running.discard)
        if running:
            await asyncio.wait(running)


asyncio.run(main())
