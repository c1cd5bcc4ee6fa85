"""Android commands of the shell: am, pm, input, dumpsys, wm, settings and others."""
