# Print what bash offers for a line, one match per line: matches.bash SCRIPT WORD... The last word is being completed.
# Words are split at = and : as readline splits them.
source "$1"
shift
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMP_WORDS=()
for word in "$@"; do
  while [[ $word == *[=:]* ]]; do
    before=${word%%[=:]*}
    [[ -n $before ]] && COMP_WORDS+=("$before")
    word=${word#"$before"}
    COMP_WORDS+=("${word:0:1}")
    word=${word:1}
  done
  COMP_WORDS+=("$word")
done
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_clawperator "$1"
printf '%s\n' "${COMPREPLY[@]}"
