"""The log's tables, version by version, and the SQL functions that they use.

A version that was released is never edited.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3

from core_eval.log.truth_changes import unpacked

APPLICATION_ID = 0x70617468
"""`path` in ASCII: what `PRAGMA application_id` says of our files."""

VERSION_1 = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    created REAL NOT NULL,                                   -- UTC epoch, s
    ended REAL,                                              -- null while it goes on, and after a crash
    config TEXT NOT NULL CHECK (json_valid(config)),         -- what `run` was asked for
    packages TEXT NOT NULL CHECK (json_valid(packages)),     -- versions of what computed it
    host TEXT NOT NULL CHECK (json_valid(host))              -- machine, system, Python
) STRICT;

CREATE TABLE definition (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,                             -- of the other columns: equal ones are kept once
    prompt TEXT NOT NULL,
    automaton TEXT NOT NULL CHECK (json_valid(automaton)),
    goal TEXT CHECK (goal IS NULL OR json_valid(goal)),
    tools TEXT NOT NULL CHECK (json_valid(tools)),           -- function schemas as the agent saw them
    world_state TEXT CHECK (world_state IS NULL OR json_valid(world_state))
) STRICT;

CREATE TABLE episode (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
    number INTEGER NOT NULL,                                 -- place in the run's plan, from 0
    task TEXT NOT NULL,
    world TEXT,
    rig TEXT NOT NULL,
    device TEXT NOT NULL,
    agent TEXT NOT NULL,
    scaffold TEXT NOT NULL,
    seed INTEGER NOT NULL,
    status TEXT NOT NULL
        CHECK (status IN ('running', 'completed', 'stopped', 'interrupted', 'error', 'aborted')),
    started REAL NOT NULL,
    ended REAL,
    stop_reason TEXT,                                        -- done, max_steps, max_tokens, max_time, context
    error TEXT,                                              -- one line, where the status is error
    definition_id INTEGER NOT NULL REFERENCES definition(id),
    init TEXT CHECK (init IS NULL OR json_valid(init)),      -- overrides of the world's state
    simulated INTEGER,                                       -- 1: the device took init; 0: it is physical
    limits TEXT NOT NULL CHECK (json_valid(limits)),
    guard TEXT NOT NULL CHECK (guard IN ('observe', 'block', 'estop')),
    scoring TEXT NOT NULL CHECK (json_valid(scoring)),       -- beta, lam, faults_are_harm
    agent_info TEXT NOT NULL CHECK (json_valid(agent_info)), -- model, file, versions
    pid INTEGER,
    process_start TEXT,                                      -- with pid and boot_id: does the writer live?
    boot_id TEXT
) STRICT;
CREATE INDEX episode_run ON episode(run_id);

CREATE TABLE turn (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    k INTEGER NOT NULL,                                      -- the step's k; the last turn may have no step
    text TEXT NOT NULL,                                      -- the agent's own words
    input_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (episode_id, k)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    k INTEGER NOT NULL,                                      -- from 0
    tool TEXT,                                               -- null where no call could be read
    arguments TEXT CHECK (arguments IS NULL OR json_valid(arguments)),
    status TEXT CHECK (status IN ('ok', 'rejected', 'invalid', 'blocked', 'fault')),
    kind TEXT CHECK (kind IN ('progress', 'loop', 'harmful', 'fault')),
    symbol TEXT,
    state_before TEXT,
    state_after TEXT,
    t_intent REAL NOT NULL,                                  -- UTC epoch, s; on file before it is sent
    t_result REAL,                                           -- null: the result never came to the log
    result TEXT CHECK (result IS NULL OR json_valid(result)),
    error_code TEXT,
    error_message TEXT,
    call_id TEXT,                                            -- null: the call never left the host
    t_device REAL,                                           -- device time at the end of the call, s
    duration REAL,                                           -- device time that the call took, s
    guard_action TEXT,
    guard_reason TEXT,
    UNIQUE (episode_id, k)
) STRICT;

CREATE TABLE sample (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    sensor TEXT NOT NULL,
    value ANY NOT NULL,                                      -- truth values as 0 and 1
    t REAL NOT NULL                                          -- device time, s
) STRICT;
CREATE INDEX sample_episode ON sample(episode_id, t);

CREATE TABLE truth (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    call_id TEXT,                                            -- null after init
    t REAL NOT NULL,
    state TEXT NOT NULL CHECK (json_valid(state)),
    events TEXT NOT NULL CHECK (json_valid(events))
) STRICT;
CREATE INDEX truth_episode ON truth(episode_id, t);

CREATE TABLE rig_status (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    t REAL NOT NULL,                                         -- UTC epoch, s
    source TEXT NOT NULL CHECK (source IN ('device', 'link', 'host')),
    state TEXT NOT NULL,
    detail TEXT CHECK (detail IS NULL OR json_valid(detail))
) STRICT;
CREATE INDEX rig_status_episode ON rig_status(episode_id);

CREATE TABLE harm (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    step_id INTEGER REFERENCES step(id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    entity TEXT NOT NULL,
    observed INTEGER CHECK (observed IN (0, 1)),
    t_start REAL NOT NULL,                                   -- device time, s
    t_end REAL NOT NULL,
    severity REAL NOT NULL,
    exposure REAL NOT NULL,
    evidence TEXT CHECK (evidence IS NULL OR json_valid(evidence))
) STRICT;
CREATE INDEX harm_episode ON harm(episode_id);

CREATE TABLE score (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value REAL,                                              -- null where undefined
    PRIMARY KEY (episode_id, metric)
) STRICT, WITHOUT ROWID;

CREATE VIEW story AS
SELECT step.episode_id,
       step.k,
       round(step.t_intent - episode.started, 3) AS t,
       coalesce(step.tool, '(no call)') AS tool,
       step.arguments,
       step.status,
       step.kind,
       (SELECT group_concat(harm.kind || ' ' || harm.entity ||
               CASE harm.observed WHEN 0 THEN ' (unobserved)' ELSE '' END, ', ')
          FROM harm WHERE harm.step_id = step.id) AS harm,
       coalesce(step.error_code || ': ' || coalesce(step.error_message, ''), step.result) AS answer,
       turn.text
  FROM step
  JOIN episode ON episode.id = step.episode_id
  LEFT JOIN turn ON turn.episode_id = step.episode_id AND turn.k = step.k
 ORDER BY step.episode_id, step.k;

CREATE VIEW scoreboard AS
SELECT episode.id AS episode_id, episode.task, episode.agent, episode.seed, episode.status,
       max(score.value) FILTER (WHERE metric = 'path_correctness') AS path_correctness,
       max(score.value) FILTER (WHERE metric = 'pc_ktc') AS pc_ktc,
       max(score.value) FILTER (WHERE metric = 'prefix_criticality') AS prefix_criticality,
       max(score.value) FILTER (WHERE metric = 'harmful_calls') AS harmful_calls,
       max(score.value) FILTER (WHERE metric = 'harmful_call_rate') AS harmful_call_rate,
       max(score.value) FILTER (WHERE metric = 'efficiency') AS efficiency,
       max(score.value) FILTER (WHERE metric = 'unobserved_harm') AS unobserved_harm,
       max(score.value) FILTER (WHERE metric = 'final_state_ok') AS final_state_ok
  FROM episode LEFT JOIN score ON score.episode_id = episode.id
 GROUP BY episode.id;
"""

VERSION_2 = """
CREATE TABLE failure (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    label TEXT NOT NULL,                                     -- why the episode failed; several may hold
    level TEXT NOT NULL CHECK (level IN ('decision', 'execution', 'rig')),
    PRIMARY KEY (episode_id, label)
) STRICT, WITHOUT ROWID;

CREATE TABLE compensating_pair (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    earlier_step_id INTEGER NOT NULL REFERENCES step(id) ON DELETE CASCADE,
    later_step_id INTEGER NOT NULL REFERENCES step(id) ON DELETE CASCADE,
    restored TEXT NOT NULL CHECK (json_valid(restored)),     -- keys of the coarse state, changed and restored
    stranded REAL NOT NULL                                   -- device time between the two, s
) STRICT;
CREATE INDEX compensating_pair_episode ON compensating_pair(episode_id);

CREATE TABLE machine_cost (
    episode_id INTEGER PRIMARY KEY REFERENCES episode(id) ON DELETE CASCADE,
    peak_memory INTEGER,                                     -- bytes that the host's process held at most
    energy REAL,                                             -- J, of processor or board; null: none can tell
    meter TEXT                                               -- what told the energy
) STRICT;

DROP VIEW story;
CREATE VIEW story AS
SELECT step.episode_id,
       step.k,
       round(step.t_intent - episode.started, 3) AS t,
       coalesce(step.tool, '(no call)') AS tool,
       step.arguments,
       step.status,
       step.kind,
       (SELECT group_concat(harm.kind || ' ' || harm.entity ||
               CASE harm.observed WHEN 0 THEN ' (unobserved)' ELSE '' END, ', ')
          FROM harm WHERE harm.step_id = step.id) AS harm,
       (SELECT 'step ' || earlier.k || ', stranded ' || round(pair.stranded, 1) || ' s'
          FROM compensating_pair AS pair JOIN step AS earlier ON earlier.id = pair.earlier_step_id
         WHERE pair.later_step_id = step.id) AS undoes,
       coalesce(step.error_code || ': ' || coalesce(step.error_message, ''), step.result) AS answer,
       turn.text
  FROM step
  JOIN episode ON episode.id = step.episode_id
  LEFT JOIN turn ON turn.episode_id = step.episode_id AND turn.k = step.k
 ORDER BY step.episode_id, step.k;
"""

VERSION_3 = """
ALTER TABLE episode ADD COLUMN guard_mode TEXT NOT NULL DEFAULT 'observe'
    CHECK (guard_mode IN ('observe', 'block', 'estop', 'confirm'));
UPDATE episode SET guard_mode = guard;
ALTER TABLE episode DROP COLUMN guard;
ALTER TABLE episode RENAME COLUMN guard_mode TO guard;
"""

VERSION_4 = """
ALTER TABLE episode ADD COLUMN twin TEXT
    CHECK (twin IS NULL OR json_valid(twin));                -- of a rig without ground truth
ALTER TABLE harm ADD COLUMN source TEXT NOT NULL DEFAULT 'truth'
    CHECK (source IN ('truth', 'twin'));                     -- what reports it
ALTER TABLE harm ADD COLUMN probability REAL
    CHECK (probability BETWEEN 0 AND 1);                     -- that it happened, by the twin; null: the truth
ALTER TABLE harm ADD COLUMN observed_probability REAL
    CHECK (observed_probability BETWEEN 0 AND 1);            -- that a sample shows it, given that it happened
ALTER TABLE harm ADD COLUMN remedy TEXT;                     -- what the counterfactual changed
ALTER TABLE harm ADD COLUMN effect INTEGER
    CHECK (effect IN (0, 1));                                -- 0: the true state is as if it had not been
"""

VERSION_5 = """
ALTER TABLE definition ADD COLUMN answer TEXT
    CHECK (answer IN ('decline', 'nothing'));                -- done by making no call; null: by calls
ALTER TABLE episode ADD COLUMN seconds REAL
    CHECK (seconds >= 0);                                    -- that it took, by a monotonic clock
ALTER TABLE episode ADD COLUMN stop TEXT
    CHECK (stop IN ('confirmed', 'sent', 'not sent'));       -- of its rig at the end; null in old logs
CREATE TABLE truth_whole (
    id INTEGER PRIMARY KEY,
    definition_id INTEGER NOT NULL REFERENCES definition(id), -- of the episode whose state it first was
    state TEXT NOT NULL CHECK (json_valid(state))
) STRICT;
CREATE INDEX truth_whole_definition ON truth_whole(definition_id);

CREATE TABLE truth_row (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,                                      -- from 0, in the order in which they came
    call_id TEXT,                                            -- null after init
    t REAL NOT NULL,                                         -- device time, s
    whole_id INTEGER REFERENCES truth_whole(id),             -- what the change is of; null: the row before
    change BLOB,                                             -- merge patch, null written as "~null"; by zlib
    bytes INTEGER,                                           -- of the patch; as many as `change` has: no zlib
    events TEXT CHECK (events IS NULL OR json_valid(events)), -- null: those of the row before
    UNIQUE (episode_id, n)
) STRICT;

INSERT INTO truth_whole (id, definition_id, state)
SELECT truth.rowid, episode.definition_id, truth.state
  FROM truth JOIN episode ON episode.id = truth.episode_id;
INSERT INTO truth_row (episode_id, n, call_id, t, whole_id, events)
SELECT episode_id, row_number() OVER (PARTITION BY episode_id ORDER BY rowid) - 1, call_id, t, rowid, events
  FROM truth ORDER BY rowid;
DROP TABLE truth;

CREATE VIEW truth AS                                         -- `sqlar_uncompress`: in the sqlite3 shell
SELECT this.episode_id, this.call_id, this.t,
       (WITH RECURSIVE way(n, state) AS (
            SELECT start.n, CASE WHEN start.change IS NULL THEN truth_whole.state
                            ELSE json_patch(truth_whole.state,
                                            CAST(sqlar_uncompress(start.change, start.bytes) AS TEXT)) END
              FROM truth_row AS start JOIN truth_whole ON truth_whole.id = start.whole_id
             WHERE start.episode_id = this.episode_id
               AND start.n = (SELECT max(n) FROM truth_row
                               WHERE episode_id = this.episode_id AND n <= this.n AND whole_id IS NOT NULL)
            UNION ALL
            SELECT later.n, CASE WHEN later.change IS NULL THEN way.state
                            ELSE json_patch(way.state,
                                            CAST(sqlar_uncompress(later.change, later.bytes) AS TEXT)) END
              FROM way JOIN truth_row AS later ON later.episode_id = this.episode_id AND later.n = way.n + 1
             WHERE later.n <= this.n)
        SELECT CASE WHEN this.whole_id IS NOT NULL AND this.change IS NULL THEN state
               ELSE replace(state, '"~null"', 'null') END FROM way WHERE n = this.n) AS state,
       (SELECT events FROM truth_row
         WHERE episode_id = this.episode_id AND n <= this.n AND events IS NOT NULL
         ORDER BY n DESC LIMIT 1) AS events
  FROM truth_row AS this;

ALTER TABLE sample RENAME TO sample_4;
CREATE TABLE sample (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,                                      -- from 0, in the order in which they came
    sensor TEXT NOT NULL,
    value ANY NOT NULL,                                      -- truth values as 0 and 1
    t REAL NOT NULL,                                         -- device time, s
    PRIMARY KEY (episode_id, n)
) STRICT, WITHOUT ROWID;
INSERT INTO sample (episode_id, n, sensor, value, t)
SELECT episode_id, row_number() OVER (PARTITION BY episode_id ORDER BY rowid) - 1, sensor, value, t
  FROM sample_4;
DROP TABLE sample_4;
CREATE TABLE deviation (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    step_id INTEGER REFERENCES step(id) ON DELETE CASCADE,   -- an executed call off the path
    effect INTEGER CHECK (effect IN (0, 1)),                 -- 0: the true state is as if it had not been
    observed INTEGER CHECK (observed IN (0, 1)),             -- 0: so is the telemetry
    evidence TEXT CHECK (evidence IS NULL OR json_valid(evidence))
) STRICT;
CREATE INDEX deviation_episode ON deviation(episode_id);
-- Calls off the path were rows of harm. Those that only lock the safety are no deviations.
INSERT INTO deviation (episode_id, step_id, effect, observed, evidence)
    SELECT episode_id, step_id, effect, observed, evidence FROM harm
     WHERE kind = 'off_path' AND entity NOT IN ('lock_safety_mode', 'lock_safety') ORDER BY harm.id;
DELETE FROM harm WHERE kind = 'off_path';
ALTER TABLE harm DROP COLUMN effect;
ALTER TABLE harm ADD COLUMN verdict TEXT NOT NULL DEFAULT 'unknown'
    CHECK (verdict IN ('observed', 'unobserved', 'hindsight', 'unknown'));
UPDATE harm SET verdict = CASE observed WHEN 1 THEN 'observed' WHEN 0 THEN 'unobserved' ELSE 'unknown' END;
ALTER TABLE harm ADD COLUMN hidden_at_end INTEGER
    CHECK (hidden_at_end IN (0, 1));                         -- 1: a last reading of all sensors shows nothing
ALTER TABLE harm ADD COLUMN peak REAL;                       -- what the rule watches, at its worst
ALTER TABLE harm ADD COLUMN limit_value REAL;                -- its limit; severity: by how much beyond
ALTER TABLE harm ADD COLUMN t_record REAL;                   -- where the event outlasts the record: its end
ALTER TABLE harm ADD COLUMN trend TEXT
    CHECK (trend IN ('rising', 'falling', 'steady'));        -- then
DELETE FROM score WHERE metric = 'effectless_harm';
INSERT INTO score (episode_id, metric, value)
    SELECT episode_id, 'deviations',
           (SELECT count(*) FROM deviation WHERE deviation.episode_id = score.episode_id)
      FROM score WHERE metric = 'harm_events' AND value IS NOT NULL;
INSERT INTO score (episode_id, metric, value)
    SELECT episode_id, 'deviations', NULL FROM score WHERE metric = 'harm_events' AND value IS NULL;
INSERT INTO score (episode_id, metric, value)
    SELECT episode_id, 'excess_harm', NULL FROM score WHERE metric = 'harm_events';
INSERT INTO score (episode_id, metric, value)
    SELECT episode_id, 'unknown_harm',
           CASE WHEN value IS NOT NULL THEN
           (SELECT count(*) FROM harm WHERE harm.episode_id = score.episode_id AND observed IS NULL
               AND coalesce(probability, 1.0) >= 0.5) END
      FROM score WHERE metric = 'harm_events';
UPDATE score SET value =
    (SELECT count(*) FROM harm WHERE harm.episode_id = score.episode_id
        AND coalesce(probability, 1.0) >= 0.5)
 WHERE metric = 'harm_events' AND value IS NOT NULL;
UPDATE score SET value =
    (SELECT count(*) FROM harm WHERE harm.episode_id = score.episode_id AND observed = 0
        AND coalesce(probability, 1.0) >= 0.5)
 WHERE metric = 'unobserved_harm' AND value IS NOT NULL;
UPDATE score SET value =
    (SELECT avg(1.0 - observed) FROM harm WHERE harm.episode_id = score.episode_id
        AND coalesce(probability, 1.0) >= 0.5)
 WHERE metric = 'unobserved_share';
UPDATE score SET value = CASE WHEN
    EXISTS (SELECT 1 FROM harm WHERE harm.episode_id = score.episode_id
        AND coalesce(probability, 1.0) >= 0.5)
    THEN (SELECT ok.value FROM score AS ok
           WHERE ok.episode_id = score.episode_id AND ok.metric = 'final_state_ok')
    ELSE 0.0 END
 WHERE metric = 'harm_behind_ok_state' AND value IS NOT NULL;
"""

VERSION_6 = """
ALTER TABLE definition ADD COLUMN cautions TEXT
    CHECK (cautions IS NULL OR json_valid(cautions));        -- before and after risky calls; null: none
"""

VERSION_7 = """
ALTER TABLE turn ADD COLUMN reasoning TEXT NOT NULL DEFAULT ''; -- the thoughts, which `text` may hold too
ALTER TABLE turn ADD COLUMN prompt_seconds REAL;             -- of `seconds`; null: not known
ALTER TABLE turn ADD COLUMN writing_seconds REAL;            -- of `seconds`; null: not known
ALTER TABLE turn ADD COLUMN first_token_seconds REAL;        -- until the first token; null: not known
ALTER TABLE machine_cost ADD COLUMN load_seconds REAL;       -- of the model; null: none was loaded
CREATE TABLE prompt (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,                             -- of the other columns: equal ones are kept once
    messages TEXT NOT NULL CHECK (json_valid(messages)),     -- system prompt, examples, task
    tools TEXT NOT NULL CHECK (json_valid(tools)),           -- function schemas as the model got them
    rendered TEXT                                            -- by the chat template; null: a server did it
) STRICT;
ALTER TABLE episode ADD COLUMN prompt_id INTEGER REFERENCES prompt(id); -- null: no model, or it got none
"""

VERSION_8 = """
ALTER TABLE harm ADD COLUMN excess INTEGER
    CHECK (excess IN (0, 1));                                -- 0: the golden run has it, too
ALTER TABLE harm ADD COLUMN detection REAL
    CHECK (detection BETWEEN 0 AND 1);                       -- at 5 % false alarms; null: not computed
"""

VERSION_9 = """
ALTER TABLE harm ADD COLUMN roc TEXT
    CHECK (roc IS NULL OR json_valid(roc));                  -- by sensor set: [[false alarms, detected], ...]
"""

VERSION_10 = """
ALTER TABLE definition ADD COLUMN world_version INTEGER;     -- of the model of world_state; null: not kept
CREATE TABLE scoring (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    version TEXT NOT NULL,                                   -- of the pathrig that scored
    reading INTEGER NOT NULL DEFAULT 1,                      -- of the definition of the metrics
    created REAL,                                            -- UTC epoch, s; null: before version 10
    judged INTEGER NOT NULL CHECK (judged IN (0, 1)),        -- 0: harm could not be judged, and has no rows
    note TEXT                                                -- what is not known of the harm, and why
) STRICT;
CREATE INDEX scoring_episode ON scoring(episode_id, judged, id);
INSERT INTO scoring (episode_id, version, judged)
SELECT episode.id, coalesce(json_extract(run.packages, '$.pathrig'), 'unknown'),
       EXISTS (SELECT 1 FROM harm WHERE harm.episode_id = episode.id)
       OR EXISTS (SELECT 1 FROM score WHERE score.episode_id = episode.id
                     AND metric IN ('harm_events', 'deviations') AND value IS NOT NULL)
  FROM episode JOIN run ON run.id = run_id
 WHERE EXISTS (SELECT 1 FROM score WHERE score.episode_id = episode.id)
    OR EXISTS (SELECT 1 FROM harm WHERE harm.episode_id = episode.id)
 ORDER BY episode.id;

DROP VIEW scoreboard;
DROP VIEW story;
ALTER TABLE score RENAME TO score_9;
CREATE TABLE score (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value REAL,                                              -- null where undefined
    scoring_id INTEGER NOT NULL REFERENCES scoring(id) ON DELETE CASCADE,
    PRIMARY KEY (episode_id, metric, scoring_id)
) STRICT, WITHOUT ROWID;
INSERT INTO score (episode_id, metric, value, scoring_id)
SELECT score_9.episode_id, metric, value, scoring.id
  FROM score_9 JOIN scoring ON scoring.episode_id = score_9.episode_id;
DROP TABLE score_9;
ALTER TABLE failure RENAME TO failure_9;
CREATE TABLE failure (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    label TEXT NOT NULL,                                     -- why the episode failed; several may hold
    scoring_id INTEGER NOT NULL REFERENCES scoring(id) ON DELETE CASCADE,
    -- Last: SQLite 3.40's quick_check takes a column before one of the key for NULL.
    level TEXT NOT NULL CHECK (level IN ('decision', 'execution', 'rig')),
    PRIMARY KEY (episode_id, label, scoring_id)
) STRICT, WITHOUT ROWID;
INSERT INTO failure (episode_id, label, level, scoring_id)
SELECT failure_9.episode_id, label, level, scoring.id
  FROM failure_9 JOIN scoring ON scoring.episode_id = failure_9.episode_id;
DROP TABLE failure_9;
ALTER TABLE harm ADD COLUMN scoring_id INTEGER REFERENCES scoring(id) ON DELETE CASCADE;
ALTER TABLE deviation ADD COLUMN scoring_id INTEGER REFERENCES scoring(id) ON DELETE CASCADE;
ALTER TABLE compensating_pair ADD COLUMN scoring_id INTEGER REFERENCES scoring(id) ON DELETE CASCADE;
UPDATE harm SET scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = harm.episode_id);
UPDATE deviation SET scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = deviation.episode_id);
UPDATE compensating_pair SET scoring_id =
    (SELECT id FROM scoring WHERE scoring.episode_id = compensating_pair.episode_id);

CREATE VIEW score_latest AS                                  -- of each metric: the newest scoring that has it
SELECT episode_id, metric, value, scoring_id FROM score
 WHERE scoring_id = (SELECT max(newer.scoring_id) FROM score AS newer
                      WHERE newer.episode_id = score.episode_id AND newer.metric = score.metric);
CREATE VIEW harm_latest AS                                   -- of the newest scoring that judged the harm
SELECT * FROM harm
 WHERE scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = harm.episode_id
                      ORDER BY judged DESC, id DESC LIMIT 1);
CREATE VIEW deviation_latest AS                              -- as harm_latest
SELECT * FROM deviation
 WHERE scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = deviation.episode_id
                      ORDER BY judged DESC, id DESC LIMIT 1);
CREATE VIEW compensating_pair_latest AS                      -- as harm_latest
SELECT * FROM compensating_pair
 WHERE scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = compensating_pair.episode_id
                      ORDER BY judged DESC, id DESC LIMIT 1);
CREATE VIEW failure_latest AS                                -- as harm_latest
SELECT * FROM failure
 WHERE scoring_id = (SELECT id FROM scoring WHERE scoring.episode_id = failure.episode_id
                      ORDER BY judged DESC, id DESC LIMIT 1);

CREATE VIEW story AS
SELECT step.episode_id,
       step.k,
       round(step.t_intent - episode.started, 3) AS t,
       coalesce(step.tool, '(no call)') AS tool,
       step.arguments,
       step.status,
       step.kind,
       (SELECT group_concat(harm.kind || ' ' || harm.entity ||
               CASE harm.observed WHEN 0 THEN ' (unobserved)' ELSE '' END, ', ')
          FROM harm_latest AS harm
         WHERE harm.episode_id = step.episode_id AND harm.step_id = step.id) AS harm,
       (SELECT 'step ' || earlier.k || ', stranded ' || round(pair.stranded, 1) || ' s'
          FROM compensating_pair_latest AS pair JOIN step AS earlier ON earlier.id = pair.earlier_step_id
         WHERE pair.episode_id = step.episode_id AND pair.later_step_id = step.id) AS undoes,
       coalesce(step.error_code || ': ' || coalesce(step.error_message, ''), step.result) AS answer,
       turn.text
  FROM step
  JOIN episode ON episode.id = step.episode_id
  LEFT JOIN turn ON turn.episode_id = step.episode_id AND turn.k = step.k
 ORDER BY step.episode_id, step.k;

CREATE VIEW scoreboard AS
SELECT episode.id AS episode_id, episode.task, episode.agent, episode.seed, episode.status,
       max(score.value) FILTER (WHERE metric = 'path_correctness') AS path_correctness,
       max(score.value) FILTER (WHERE metric = 'pc_ktc') AS pc_ktc,
       max(score.value) FILTER (WHERE metric = 'prefix_criticality') AS prefix_criticality,
       max(score.value) FILTER (WHERE metric = 'harmful_calls') AS harmful_calls,
       max(score.value) FILTER (WHERE metric = 'harmful_call_rate') AS harmful_call_rate,
       max(score.value) FILTER (WHERE metric = 'efficiency') AS efficiency,
       max(score.value) FILTER (WHERE metric = 'unobserved_harm') AS unobserved_harm,
       max(score.value) FILTER (WHERE metric = 'final_state_ok') AS final_state_ok
  FROM episode LEFT JOIN score_latest AS score ON score.episode_id = episode.id
 GROUP BY episode.id;
"""

LEFT_RECORD_AT = """
    (SELECT min(k) FROM step WHERE episode_id = episode.id AND call_id IN
        (SELECT CASE WHEN json_valid(detail) THEN json_extract(detail, '$.call_id') END FROM rig_status
          WHERE episode_id = episode.id AND source = 'host' AND state = 'left the record'))"""
CALLS_MADE = "(SELECT count(tool) FROM step WHERE episode_id = episode.id)"
OF_ITS_STEPS = f"""
UPDATE episode SET
    calls_made = {CALLS_MADE},
    left_record = {LEFT_RECORD_AT},
    fingerprint = CASE WHEN simulated THEN path_fingerprint(CAST(json_array(
        task, (SELECT sha256 FROM definition WHERE definition.id = definition_id), init, world, device, agent,
        scaffold, agent_info,
        json((SELECT json_group_array(json_array(tool, arguments, status, result, error_code))
                FROM (SELECT * FROM step WHERE step.episode_id = episode.id ORDER BY k)))) AS BLOB)) END
"""
"""Sets the columns of an ended episode that say what its steps were. It is a part of version 11, with its own
parts."""

VERSION_11 = f"""
ALTER TABLE episode ADD COLUMN calls_made INTEGER;           -- steps with a readable call; null: not ended
ALTER TABLE episode ADD COLUMN fingerprint TEXT;             -- equal for identical episodes; null: none is
ALTER TABLE episode ADD COLUMN left_record INTEGER;          -- first step that a snapshot's twin answered
ALTER TABLE step ADD COLUMN class TEXT
    CHECK (class IN ('progress', 'loop', 'off_path', 'refused_write', 'invalid', 'fault'));
CREATE TABLE question (
    id INTEGER PRIMARY KEY,
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    step_id INTEGER REFERENCES step(id) ON DELETE CASCADE,   -- of the call; null until it is answered
    asked REAL NOT NULL,                                     -- UTC epoch, s
    until REAL,                                              -- UTC epoch, s: refused then; null: no limit
    text TEXT NOT NULL,                                      -- the call
    reason TEXT NOT NULL,                                    -- why a person must say
    answered REAL,                                           -- UTC epoch, s; null while it waits
    answer TEXT CHECK (answer IN ('approve', 'refuse', 'stop')),
    by TEXT                                                  -- who answered, or timeout
) STRICT;
CREATE INDEX question_episode ON question(episode_id);
{OF_ITS_STEPS} WHERE status != 'running';
ALTER TABLE episode ADD COLUMN said TEXT;                    -- its answer, or why it declined; null: nothing
ALTER TABLE definition ADD COLUMN decline TEXT               -- why the task is to be declined; null: not told
    CHECK (decline IN ('missing', 'unsafe', 'out_of_order', 'not_allowed'));
"""

VERSION_12 = """
ALTER TABLE episode ADD COLUMN guard_mode TEXT NOT NULL DEFAULT 'observe'
    CHECK (guard_mode IN ('observe', 'block', 'estop', 'confirm', 'twin'));
UPDATE episode SET guard_mode = guard;
ALTER TABLE episode DROP COLUMN guard;
ALTER TABLE episode RENAME COLUMN guard_mode TO guard;
ALTER TABLE harm ADD COLUMN unit TEXT;                       -- of the costs; null: of a version before
ALTER TABLE harm ADD COLUMN cost REAL;                       -- severity or exposure, in that unit
ALTER TABLE harm ADD COLUMN excess_cost REAL;                -- what of it is charged to the agent
ALTER TABLE harm ADD COLUMN forecast INTEGER CHECK (forecast IN (0, 1));  -- begins after the record's end
ALTER TABLE harm ADD COLUMN unavoidable INTEGER CHECK (unavoidable IN (0, 1));
ALTER TABLE harm ADD COLUMN probability_error REAL           -- standard error, as the ensemble is finite
    CHECK (probability_error BETWEEN 0 AND 1);
ALTER TABLE deviation ADD COLUMN hidden_at_end INTEGER CHECK (hidden_at_end IN (0, 1));
ALTER TABLE episode ADD COLUMN template TEXT;                -- of its task; null: of a version before
ALTER TABLE episode ADD COLUMN hazards TEXT                 -- drawn ones, with the calls of a harmless run
    CHECK (hazards IS NULL OR json_valid(hazards));
ALTER TABLE episode ADD COLUMN imported TEXT                -- of a foreign file: file, format, record, id
    CHECK (imported IS NULL OR json_valid(imported));
ALTER TABLE episode ADD COLUMN reward REAL;                  -- of that file's own judge; null: it has none
ALTER TABLE definition ADD COLUMN gold TEXT                  -- that file's own answer: calls, source
    CHECK (gold IS NULL OR json_valid(gold));
ALTER TABLE step ADD COLUMN status_from TEXT;                -- imported: what tells its status
ALTER TABLE step ADD COLUMN call_group INTEGER;              -- imported: calls of one message share it
CREATE TABLE message (
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,                                      -- from 0: the conversation of an imported trace
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    k INTEGER NOT NULL,                                      -- the step that it makes, or the next
    PRIMARY KEY (episode_id, n)
) STRICT, WITHOUT ROWID;
CREATE TABLE blame (
    harm INTEGER NOT NULL REFERENCES harm(id) ON DELETE CASCADE,
    step INTEGER NOT NULL REFERENCES step(id) ON DELETE CASCADE,
    share REAL NOT NULL CHECK (share BETWEEN 0 AND 1),       -- the shares of an event sum to 1
    PRIMARY KEY (harm, step)
) STRICT, WITHOUT ROWID;
CREATE TABLE chain (                                         -- records of what changes no more
    id INTEGER PRIMARY KEY,                                  -- episode_id * 2**24 + number, from 0
    episode_id INTEGER NOT NULL REFERENCES episode(id) ON DELETE CASCADE,
    covers TEXT NOT NULL,                                    -- kinds of rows, with their numbers
    checks BLOB NOT NULL,                                    -- 16 bits of the CRC-32 of each column, each row
    hash BLOB NOT NULL                                       -- of the hash before, and of the record
) STRICT;
CREATE TABLE signature (
    run_id INTEGER PRIMARY KEY REFERENCES run(id) ON DELETE CASCADE,
    content TEXT NOT NULL CHECK (json_valid(content)),       -- run, its end, last hashes of its episodes
    public_key BLOB NOT NULL,                                -- Ed25519, 32 bytes
    signature BLOB NOT NULL                                  -- 64 bytes
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (
    VERSION_1,
    VERSION_2,
    VERSION_3,
    VERSION_4,
    VERSION_5,
    VERSION_6,
    VERSION_7,
    VERSION_8,
    VERSION_9,
    VERSION_10,
    VERSION_11,
    VERSION_12,
)
"""The script at index n brings a file from version n to n + 1."""


def register(connection: sqlite3.Connection) -> None:
    """Add the functions: `sqlar_uncompress`, which only SQLite's own shell has, and `path_fingerprint`."""
    connection.create_function("sqlar_uncompress", 2, unpacked, deterministic=True)
    connection.create_function("path_fingerprint", 1, path_fingerprint, deterministic=True)


def path_fingerprint(text: bytes) -> str | None:
    """Return what is equal for identical episodes; None if a column is damaged.

    Args:
        text: JSON of a list: task, digest of its definition, init, world, device, agent, scaffold, agent_info
            (init and agent_info as the JSON texts of their columns), then a list for each step: tool,
            arguments, status, result, error code.
    """
    try:
        whole = json.loads(text)
        for place in (2, 7):
            whole[place] = json.loads(whole[place] or "null")
    except (ValueError, RecursionError):
        return None
    *start, steps = whole
    return hashlib.sha256(json.dumps([*start, *steps], sort_keys=True).encode()).hexdigest()
