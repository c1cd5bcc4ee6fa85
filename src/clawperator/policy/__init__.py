"""The policy: rules, the decision on a call, and its enforcement on every path."""

# Type checkers know this name; importing it from typing would cost every command some milliseconds.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from clawperator.policy.actions import action_entry, action_subjects, performed_actions
    from clawperator.policy.commands import command_entry
    from clawperator.policy.enforcement import (
        PolicyGate,
        check_actions,
        check_call,
        check_calls,
        check_labelled_action,
        denial,
        enforcing,
        inherited_policy,
        policy_environment,
        policy_in_force,
    )
    from clawperator.policy.inheritance import restricted
    from clawperator.policy.rules import (
        DEFAULT_MODE,
        Asker,
        Governed,
        GovernedCall,
        Policy,
        PolicyDecision,
        PolicyEntry,
        PolicyRule,
        read_level,
        read_rule,
        strictest,
    )
else:
    from clawperator._lazy import lazy_exports

    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "actions": "action_entry action_subjects performed_actions",
            "commands": "command_entry",
            "enforcement": (
                "PolicyGate check_actions check_call check_calls check_labelled_action denial enforcing"
                " inherited_policy policy_environment policy_in_force"
            ),
            "inheritance": "restricted",
            "rules": (
                "Asker DEFAULT_MODE Governed GovernedCall Policy PolicyDecision PolicyEntry PolicyRule"
                " read_level read_rule strictest"
            ),
        },
    )

__all__ = [
    "DEFAULT_MODE",
    "Asker",
    "Governed",
    "GovernedCall",
    "Policy",
    "PolicyDecision",
    "PolicyEntry",
    "PolicyGate",
    "PolicyRule",
    "action_entry",
    "action_subjects",
    "check_actions",
    "check_call",
    "check_calls",
    "check_labelled_action",
    "command_entry",
    "denial",
    "enforcing",
    "inherited_policy",
    "performed_actions",
    "policy_environment",
    "policy_in_force",
    "read_level",
    "read_rule",
    "restricted",
    "strictest",
]
