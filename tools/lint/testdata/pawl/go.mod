module pawl

go 1.26.0
