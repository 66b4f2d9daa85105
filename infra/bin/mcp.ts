/** `npm run -s mcp`: the operations of a running service as tools of the Model Context Protocol, over standard input and output. */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { mcpServer } from '../../api/extras/mcp/server.ts'
import { BadConfiguration } from '../config/bad-configuration.ts'
import { readServiceAccess } from '../config/config.ts'
import { printLine } from '../lib/output.ts'
import { withoutArguments } from '../process/help.ts'
import { describeError } from '../telemetry/describe-error.ts'

withoutArguments({
  does: 'Serves candles, ticks, pools and usage of a running service as MCP tools, over standard input and output. API_URL and API_KEY name the service.',
  usage: ['npm run -s mcp'],
  examples: ['API_URL=http://127.0.0.1:3000 API_KEY=cp_… npm run -s mcp'],
})

try {
  await mcpServer(readServiceAccess(), describeError).connect(new StdioServerTransport())
} catch (error) {
  printLine(error instanceof BadConfiguration ? error.message : describeError(error), process.stderr)
  process.exit(1)
}
