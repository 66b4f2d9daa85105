/** `npm run -s mcp`: the operations of a running service as tools of the Model Context Protocol, over standard input and output. */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { openApi } from '../../api/schema/openapi.ts'
import { BadConfiguration } from '../config/bad-configuration.ts'
import { readServiceAccess, type ServiceAccess } from '../config/config.ts'
import { printLine } from '../lib/output.ts'
import { withoutArguments } from '../process/help.ts'
import { describeError } from '../telemetry/describe-error.ts'

withoutArguments({
  does: 'Serves candles, ticks, pools and usage of a running service as MCP tools, over standard input and output. API_URL and API_KEY name the service.',
  usage: ['npm run -s mcp'],
  examples: ['API_URL=http://127.0.0.1:3000 API_KEY=cp_… npm run -s mcp'],
})

const OPERATIONS = ['/v0/candles', '/v0/ticks', '/v0/pools', '/v0/usage'] as const
const TIMEOUT_MS = 30_000

/** Parameters as the service documents them; numbers are taken, too. */
function tools() {
  const { paths } = openApi()
  return OPERATIONS.flatMap((path) => {
    const operation = paths[path]?.get
    if (!operation) return []
    const { operationId: name, summary, description, parameters } = operation
    const properties = parameters.map(({ name, schema, description }) => [name, { ...schema, description }] as const)
    return [
      {
        path,
        name,
        title: summary,
        description: `${description} Costs credits: ${operation['x-credits']}`,
        inputSchema: {
          type: 'object' as const,
          properties: Object.fromEntries(properties),
          required: parameters.filter(({ required }) => required).map((parameter) => parameter.name),
        },
        annotations: { readOnlyHint: true, openWorldHint: false },
      },
    ]
  })
}

const TOOLS = tools()

/** The headers that say which pool has answered, and what may be missing. */
const TOLD = /^(?:x-market-|x-api-suggestion|x-candlepool-devnet|ratelimit$|retry-after)/

async function call({ url, key }: ServiceAccess, path: string, values: Readonly<Record<string, unknown>>) {
  // Clients send null and '' for parameters that are not set.
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
  const answer = await fetch(`${url}${path}?${query}`, {
    headers: { 'X-API-KEY': key },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const body: unknown = await answer.json()
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => TOLD.test(name)))
  return { content: [{ type: 'text' as const, text: JSON.stringify({ headers, body }) }], isError: !answer.ok }
}

function startServer(access: ServiceAccess): Promise<void> {
  const server = new Server({ name: 'candlepool', version: 'v0' }, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS.map(({ path: _, ...tool }) => tool) }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = TOOLS.find(({ name }) => name === params.name)
    const failed = (text: string) => ({ content: [{ type: 'text' as const, text }], isError: true })
    if (!tool) return failed(`There is no tool ${params.name}: there are ${TOOLS.map(({ name }) => name).join(', ')}.`)
    return call(access, tool.path, params.arguments ?? {}).catch((error: unknown) =>
      failed(`The service does not answer: ${describeError(error)}`),
    )
  })
  return server.connect(new StdioServerTransport())
}

try {
  await startServer(readServiceAccess())
} catch (error) {
  printLine(error instanceof BadConfiguration ? error.message : describeError(error), process.stderr)
  process.exit(1)
}
