/** What the processes say of an environment that they cannot run in. */

/** Every bad variable at once, so that nobody mends them one start at a time. */
export class BadConfiguration extends Error {
  override readonly name = 'BadConfiguration'

  constructor(problems: readonly string[]) {
    super(
      `The environment has ${problems.length === 1 ? 'a bad value' : `${problems.length} bad values`}:\n${problems.map((it) => `  ${it}`).join('\n')}`,
    )
  }
}
