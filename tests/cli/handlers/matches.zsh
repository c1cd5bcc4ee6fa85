# Print what zsh offers for a line, one match per line with its text: matches.zsh SCRIPT LINE DUMP
# DUMP is a file in which zsh keeps its list of completion functions; the first run writes it.
# A second zsh runs on a terminal of its own and sources this file. Its compadd writes the matches to the file FOUND.
if [[ -n $FOUND ]]; then
  autoload -Uz compinit
  compinit -u -C -d $DUMP
  source $SCRIPT
  compadd() {
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
      builtin compadd "$@"
      return
    fi
    local -a hits texts
    local given
    if (( $@[(I)-d] )); then
      given=${@[${@[(i)-d]} + 1]}
      texts=("${(@P)given}")
    fi
    builtin compadd -A hits -D texts "$@"
    local -i i
    for (( i = 1; i <= $#hits; i++ )); do print -r -- "$hits[i] $texts[i]" >>$FOUND; done
    builtin compadd "$@"
  }
  leave() { exit }
  comppostfuncs=(leave)
  bindkey '^I' complete-word
  return
fi
zmodload zsh/zpty
found=$(mktemp) || exit 1
zpty shell env FOUND=$found SCRIPT=$1 DUMP=$3 zsh -f -i
zpty -w shell "source ${(q)0}"
zpty -w -n shell "$2"$'\t'
while zpty -r shell output; do :; done
sort -u $found
rm -f $found
