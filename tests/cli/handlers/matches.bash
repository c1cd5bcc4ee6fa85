# Print what bash offers for a line, one match per line: matches.bash SCRIPT LINE
source "$1"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
_clawperator
printf '%s\n' "${COMPREPLY[@]}"
