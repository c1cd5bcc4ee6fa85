"""The campaigns of the soak tests and their shares of the time."""

from soak import agent_readers, device_answers, documents, languages, recordings
from soak.coverage import run_coverage
from soak.endpoints import run_endpoints
from soak.faults import run_matrix
from soak.fuzz import fuzz
from soak.http_api import run_http
from soak.http_events import run_events
from soak.kills import run_kills
from soak.policies import run_policies
from soak.references import run_references
from soak.runner import Campaign
from soak.secrets import run_secrets

READERS = (*documents.TARGETS, *recordings.TARGETS, *agent_readers.TARGETS, *device_answers.TARGETS)
SLOW_READERS = (*documents.SLOW_TARGETS, *languages.TARGETS, *languages.SLOW_TARGETS)

CAMPAIGNS = (
    Campaign("readers", lambda run: fuzz(run, READERS), share=5),
    Campaign("languages", lambda run: fuzz(run, SLOW_READERS), share=2),
    Campaign("coverage", run_coverage, share=2, parts=1),
    Campaign("endpoints", run_endpoints, share=2, parts=1),
    Campaign("faults", run_matrix, share=4),
    Campaign("references", run_references, share=2),
    Campaign("policies", run_policies, share=2),
    Campaign("http", run_http, share=2, parts=1),
    Campaign("events", run_events, share=1, parts=1),
    Campaign("kills", run_kills, share=2, parts=1),
    Campaign("secrets", run_secrets, share=1, parts=1),
)
